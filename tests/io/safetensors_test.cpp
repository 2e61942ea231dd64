// .safetensors files: one that the safetensors package wrote, and what the format allows.
#include "io/support.h"

namespace regard::io {
namespace {

std::string safetensors_file(const std::string& json, const std::string& data) {
  return little_endian(json.size(), 8) + json + data;
}

using Shape = std::vector<std::int64_t>;

TEST(Safetensors, FromThePackage) {
  std::vector<NamedArray> arrays;
  std::vector<OtherArray> others;
  const Status status = read_arrays(data_path("all.safetensors"), arrays, &others);
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(others.size(), 1u);
  EXPECT_EQ(others[0].name, "ids");
  EXPECT_EQ(others[0].type, "'I32'");
  const struct {
    const char* name;
    DType dtype;
    Shape shape;
  } expected[] = {{"i64", DType::i64, {2, 3}},   {"f64", DType::f64, {2, 3}},
                  {"empty", DType::f32, {0, 4}}, {"f32", DType::f32, {2, 3}},
                  {"scalar", DType::f32, {}},    {"bf16", DType::bf16, {2, 3}},
                  {"f16", DType::f16, {2, 3}},   {"bool", DType::boolean, {2, 3}}};
  ASSERT_EQ(arrays.size(), std::size(expected));
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    SCOPED_TRACE(expected[i].name);
    const Array& array = arrays[i].array;
    EXPECT_EQ(arrays[i].name, expected[i].name);
    EXPECT_EQ(array.dtype, expected[i].dtype);
    EXPECT_EQ(array.shape, expected[i].shape);
    EXPECT_NE(array.data, nullptr);
    const std::size_t count = array.shape.empty() ? 1 : array.shape[0] == 0 ? 0 : 6;
    EXPECT_EQ(values(array), ramp_values(count, array.dtype));
  }
}

TEST(Safetensors, TensorsOffTheirAlignmentAreCopied) {
  // A tensor of 3 bytes of another type puts the next one on an odd address.
  const std::string file =
      safetensors_file(R"({"u":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},)"
                       R"("x":{"dtype":"F64","shape":[5],"data_offsets":[3,43]}})",
                       "abc" + ramp_bytes(DType::f64, 5));
  std::vector<NamedArray> arrays;
  const Status status = read_copy(file, arrays);
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(arrays.size(), 1u);
  EXPECT_EQ(arrays[0].name, "x");
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arrays[0].array.data) % 8, 0u);
  EXPECT_EQ(values(arrays[0].array), ramp_values(5));
}

TEST(Safetensors, HeaderOrderNeedNotBeDataOrder) {
  const std::string file =
      safetensors_file(R"({"b":{"data_offsets":[8,20],"shape":[3],"dtype":"F32"},)"
                       R"("__metadata__":{"a":"b","deep":[{"b":[1,null,true,2.5,-1]}]},)"
                       R"("a\u00e9":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]}}  )",
                       ramp_bytes(DType::f32, 2) + ramp_bytes(DType::f32, 3));
  std::vector<NamedArray> arrays;
  const Status status = read_copy(file, arrays);
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(arrays.size(), 2u);
  EXPECT_EQ(arrays[0].name, "b");
  EXPECT_EQ(values(arrays[0].array), ramp_values(3));
  EXPECT_EQ(arrays[1].name, "a\xc3\xa9");
  EXPECT_EQ(arrays[1].array.shape, (Shape{2, 1}));
  EXPECT_EQ(values(arrays[1].array), ramp_values(2));
}

}  // namespace
}  // namespace regard::io

// .npz files: those NumPy wrote, and archives through a file and back.
#include "io/support.h"
#include "io/zip_builder.h"

namespace regard::io {
namespace {

std::vector<NamedArray> read_all(const std::string& path) {
  std::vector<NamedArray> arrays;
  const Status status = read_arrays(path, arrays);
  EXPECT_TRUE(status.ok()) << status.message();
  return arrays;
}

std::vector<std::string> names_of(const std::vector<NamedArray>& arrays) {
  std::vector<std::string> names;
  for (const NamedArray& named : arrays) names.push_back(named.name);
  return names;
}

using Names = std::vector<std::string>;
using Shape = std::vector<std::int64_t>;

TEST(NpzFromNumPy, Stored) {
  const auto arrays = read_all(data_path("stored.npz"));
  EXPECT_EQ(names_of(arrays), (Names{"f64", "f32", "f16", "bf16", "bool", "i64"}));
  for (const NamedArray& named : arrays) {
    EXPECT_EQ(named.name, dtype_name(named.array.dtype));
    EXPECT_EQ(named.array.shape, (Shape{2, 3}));
    EXPECT_EQ(values(named.array), ramp_values(6, named.array.dtype));
  }
}

TEST(NpzFromNumPy, Deflated) {
  const auto arrays = read_all(data_path("deflated.npz"));
  ASSERT_EQ(names_of(arrays), (Names{"f64", "f32", "f16", "bf16", "bool", "i64", "zeros", "fortran",
                                     "scalar", "empty"}));
  for (const std::size_t i : {0, 1, 2, 3, 4, 5, 7}) {
    const Array& array = arrays[i].array;
    EXPECT_EQ(values(array), ramp_values(6, array.dtype)) << arrays[i].name;
  }
  EXPECT_EQ(values(arrays[6].array), std::vector<double>(64 * 64, 0.0));
  EXPECT_EQ(arrays[7].array.strides, (Shape{1, 2}));
  EXPECT_EQ(values(arrays[8].array), ramp_values(1));
  EXPECT_EQ(arrays[9].array.shape, (Shape{0, 4}));
}

TEST(NpzFromNumPy, OtherElementTypesAreLeftOutAndNamed) {
  std::vector<NamedArray> arrays;
  std::vector<OtherArray> others;
  const Status status = read_arrays(data_path("mixed.npz"), arrays, &others);
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(names_of(arrays), Names{"x"});
  EXPECT_EQ(values(arrays[0].array), ramp_values(6));
  ASSERT_EQ(others.size(), 3u);
  EXPECT_EQ(others[0].name, "bytes");
  EXPECT_EQ(others[0].type, "'|u1'");
  EXPECT_EQ(others[1].type, "'<U2'");
  EXPECT_EQ(others[2].name, "pairs");
}

TEST(NpzRead, EntriesThatAreNoNpyFilesAreLeftOut) {
  std::vector<NamedArray> arrays;
  const Status status =
      read_copy(zip_file({{.name = "notes.txt", .packed = "by hand"},
                          {.name = "deep/x.npy", .packed = read_bytes(data_path("rank1.npy"))}}),
                arrays);
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(names_of(arrays), Names{"deep/x"});
  EXPECT_EQ(values(arrays[0].array), ramp_values(5));
}

TEST(NpzRead, EntriesLargerThanTheFirstStepOfMemory) {
  constexpr std::int64_t kCount = 15000;  // 60 KB and 120 KB around a first step of 64 KB
  for (const DType dtype : {DType::f32, DType::f64}) {
    const std::string descr = dtype == DType::f32 ? "<f4" : "<f8";
    const std::string content =
        npy_file("{'descr': '" + descr + "', 'fortran_order': False, 'shape': (15000,)}",
                 ramp_bytes(dtype, kCount));
    std::string packed;
    for (std::size_t at = 0; at < content.size(); at += 60000) {
      packed += deflate_block(content.substr(at, 60000));
      if (at + 60000 < content.size()) packed[packed.size() - 60005] = '\0';  // not the last block
    }
    std::vector<NamedArray> arrays;
    const Status status = read_copy(zip_file({{.name = "x.npy",
                                               .packed = packed,
                                               .method = 8,
                                               .encrypted = false,
                                               .bytes = static_cast<std::uint32_t>(content.size()),
                                               .packed_bytes = {},
                                               .checksum = crc32(content)}}),
                                    arrays);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(values(arrays.at(0).array), ramp_values(kCount));
  }
}

TEST(NpzWrite, ComesBackInOrder) {
  const ScratchDirectory scratch;
  auto arrays = read_all(data_path("deflated.npz"));
  arrays[0].name = "k\xc3\xb6pfe/q";  // UTF-8
  const Status status = write_npz(scratch.path("out.npz"), arrays);
  ASSERT_TRUE(status.ok()) << status.message();
  const auto back = read_all(scratch.path("out.npz"));
  ASSERT_EQ(names_of(back), names_of(arrays));
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    EXPECT_EQ(back[i].array.dtype, arrays[i].array.dtype);
    EXPECT_EQ(back[i].array.shape, arrays[i].array.shape);
    EXPECT_EQ(values(back[i].array), values(arrays[i].array));
  }
}

TEST(NpzWrite, SameArraysGiveTheSameBytes) {
  const ScratchDirectory scratch;
  const auto arrays = read_all(data_path("stored.npz"));
  ASSERT_TRUE(write_npz(scratch.path("a.npz"), arrays).ok());
  ASSERT_TRUE(write_npz(scratch.path("b.npz"), arrays).ok());
  EXPECT_EQ(read_bytes(scratch.path("a.npz")), read_bytes(scratch.path("b.npz")));
  // The day of the first entry, which would be today if the clock were asked.
  EXPECT_EQ(read_bytes(scratch.path("a.npz")).substr(10, 4), little_endian(33 << 16, 4));
}

TEST(NpzWrite, BadRequests) {
  const ScratchDirectory scratch;
  const std::string path = scratch.path("out.npz");
  const Array array = read_one(data_path("rank1.npy"));
  const auto expect_refusal = [&](const std::vector<NamedArray>& arrays,
                                  const std::string& sentence) {
    const Status status = write_npz(path, arrays);
    EXPECT_EQ(status.code(), StatusCode::invalid_argument);
    EXPECT_EQ(status.message(), path + ": " + sentence);
  };
  expect_refusal({}, "there are no arrays to write");
  expect_refusal({{"", array}}, "an array to write has no name");
  expect_refusal({{"q", array}, {"q", array}}, "two arrays to write are named 'q'");
  Array broken = array;
  broken.strides.clear();
  expect_refusal({{"q", array}, {"k", broken}}, "'k': the array to write has 1 axes and 0 strides");
  EXPECT_EQ(scratch.names(), Names{});
}

TEST(NpzWrite, NamesThatAnArchiveCannotHold) {
  const ScratchDirectory scratch;
  const Array array = read_one(data_path("rank1.npy"));
  const Status status =
      write_npz(scratch.path("out.npz"), std::vector<NamedArray>{{"\xff\xfe", array}});
  EXPECT_EQ(status.code(), StatusCode::io_error);
  EXPECT_NE(status.message().find("entry '\\xff\\xfe' cannot be added"), std::string::npos)
      << status.message();
  EXPECT_EQ(scratch.names(), Names{});
}

}  // namespace
}  // namespace regard::io

// Every way in which a .safetensors file can be wrong, with the sentence that says so.
#include "io/support.h"

namespace regard::io {
namespace {

/// A file with this header and 24 bytes of data.
std::string with_header(const std::string& json) {
  return little_endian(json.size(), 8) + json + ramp_bytes(DType::f32, 6);
}

/// One tensor "a" with these fields.
std::string with_fields(const std::string& fields) {
  return with_header(R"({"a":{)" + fields + "}}");
}

void expect_sentence(const std::string& file, const std::string& sentence) {
  EXPECT_EQ(error_of(file), "file: " + sentence);
}

TEST(SafetensorsErrors, LengthOfTheHeader) {
  std::string file = with_fields(R"("dtype":"F32","shape":[6],"data_offsets":[0,24])");
  std::vector<NamedArray> arrays;
  ASSERT_TRUE(read_copy(file, arrays).ok());
  file.replace(0, 8, little_endian(4000000000, 8));
  expect_sentence(file, "the header's length is 4000000000 bytes, the file has " +
                            std::to_string(file.size() - 8) + " left");
}

TEST(SafetensorsErrors, CutAnywhere) {
  const std::string whole = read_bytes(data_path("all.safetensors"));
  for (std::size_t size = 9; size < whole.size(); ++size) {
    const std::string sentence = error_of(whole.substr(0, size));
    EXPECT_TRUE(sentence.find(" left") != std::string::npos ||
                sentence.find("bytes of data, the file has ") != std::string::npos)
        << sentence;
  }
}

TEST(SafetensorsErrors, NotJson) {
  expect_sentence(with_header(R"({"a":)"), "the header is not JSON at its byte 6");
  expect_sentence(with_header(R"({"a" 1})"), "the header is not JSON at its byte 6");
  expect_sentence(with_header("{} {}"), "the header is not JSON at its byte 4");
  expect_sentence(with_header("{\"\xff\":1}"), "the header is not JSON at its byte 3");
}

TEST(SafetensorsErrors, NoTensors) {
  expect_sentence(with_header("{}"), "the file holds no tensors");
  expect_sentence(with_header(R"({"__metadata__":{"a":"b"}})"), "the file holds no tensors");
  expect_sentence(read_bytes(data_path("others.safetensors")),
                  "none of its 1 tensors is F64, F32, F16, BF16, BOOL, I64: 'ids' is 'I32'");
}

TEST(SafetensorsErrors, Duplicates) {
  const std::string tensor = R"({"dtype":"F32","shape":[6],"data_offsets":[0,24]})";
  expect_sentence(with_header(R"({"a":)" + tensor + R"(,"a":)" + tensor + "}"),
                  "the header has two tensors 'a'");
  expect_sentence(with_fields(R"("dtype":"F32","dtype":"F16")"),
                  "tensor 'a' has the field 'dtype' twice");
}

TEST(SafetensorsErrors, Fields) {
  expect_sentence(with_fields(R"("dtype":"F32","shape":[6])"), "tensor 'a' has no data_offsets");
  expect_sentence(with_fields(R"("dtype":"F32","data_offsets":[0,24])"), "tensor 'a' has no shape");
  expect_sentence(with_fields(R"("shape":[6],"data_offsets":[0,24])"), "tensor 'a' has no dtype");
  expect_sentence(with_fields(R"("order":"C")"), "tensor 'a' has the unknown field 'order'");
}

TEST(SafetensorsErrors, KindsOfValues) {
  expect_sentence(with_header(R"({"a":5})"), "tensor 'a' must be an object, not 5");
  expect_sentence(with_header(R"({"a":[]})"), "tensor 'a' must be an object, not a list");
  expect_sentence(with_header(R"({"__metadata__":"a"})"), "\"__metadata__\" must be an object");
  expect_sentence(with_header(R"({"__metadata__":[]})"), "\"__metadata__\" must be an object");
  expect_sentence(with_fields(R"("dtype":32)"), "the dtype of tensor 'a' must be a string, not 32");
  expect_sentence(with_fields(R"("dtype":null)"),
                  "the dtype of tensor 'a' must be a string, not null");
  const std::string shape =
      "the shape of tensor 'a' must be a list of whole numbers from 0 on, not ";
  expect_sentence(with_fields(R"("shape":6)"), shape + "6");
  expect_sentence(with_fields(R"("shape":[2,-3])"), shape + "-3");
  expect_sentence(with_fields(R"("shape":[2.5])"), shape + "'2.5'");
  expect_sentence(with_fields(R"("shape":["6"])"), shape + "'6'");
  expect_sentence(with_fields(R"("shape":[true])"), shape + "a truth value");
  expect_sentence(with_fields(R"("shape":[[6]])"), shape + "a list");
  expect_sentence(with_fields(R"("shape":[{}])"), shape + "an object");
  expect_sentence(with_fields(R"("shape":[9223372036854775808])"), shape + "9223372036854775808");
  const std::string offsets =
      "the data_offsets of tensor 'a' must be two whole numbers from 0 on, not ";
  expect_sentence(with_fields(R"("data_offsets":24)"), offsets + "24");
  expect_sentence(with_fields(R"("data_offsets":[])"), offsets + "0");
  expect_sentence(with_fields(R"("data_offsets":[24])"), offsets + "1");
  expect_sentence(with_fields(R"("data_offsets":[0,24,30])"), offsets + "three");
  expect_sentence(with_fields(R"("data_offsets":[-1,24])"), offsets + "-1");
}

TEST(SafetensorsErrors, Shapes) {
  std::string axes = "6";
  for (int i = 0; i < 31; ++i) axes += ",1";
  std::vector<NamedArray> arrays;
  const auto with_axes = [](const std::string& text) {
    return with_fields(R"("dtype":"F32","shape":[)" + text + R"(],"data_offsets":[0,24])");
  };
  ASSERT_TRUE(read_copy(with_axes(axes), arrays).ok());
  expect_sentence(with_axes(axes + ",1"), "the shape of tensor 'a' has more than 32 axes");
  expect_sentence(with_axes("4294967296,4294967296"),
                  "tensor 'a' of shape (4294967296, 4294967296) passes 2^63 bytes");
  expect_sentence(with_axes("7"),
                  "the shape of tensor 'a' needs 28 bytes, its data_offsets span 24");
}

TEST(SafetensorsErrors, OffsetsThatDoNotCoverTheData) {
  const auto pair = [](const std::string& a, const std::string& b) {
    return with_header(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":)" + a +
                       R"(},"b":{"dtype":"F32","shape":[3],"data_offsets":)" + b + "}}");
  };
  std::vector<NamedArray> arrays;
  ASSERT_TRUE(read_copy(pair("[12,24]", "[0,12]"), arrays).ok());
  expect_sentence(pair("[0,12]", "[8,20]"),
                  "tensor 'b' begins at byte 8 of the data, the tensors before it end at 12");
  expect_sentence(pair("[0,12]", "[16,28]"),
                  "tensor 'b' begins at byte 16 of the data, the tensors before it end at 12");
  expect_sentence(pair("[4,16]", "[16,28]"),
                  "tensor 'a' begins at byte 4 of the data, the tensors before it end at 0");
  expect_sentence(pair("[0,12]", "[12,4]"),
                  "tensor 'b' begins at byte 12 of the data and ends at 4");
  expect_sentence(pair("[0,12]", "[12,9223372036854775807]"),
                  "the header says 9223372036854775807 bytes of data, the file has 24");
  expect_sentence(pair("[0,10]", "[10,20]"), "the header says 20 bytes of data, the file has 24");
}

TEST(SafetensorsErrors, NamesAreShownSafely) {
  expect_sentence(with_header(R"({"a\u001b[2J":5})"),
                  "tensor 'a\\x1b[2J' must be an object, not 5");
}

}  // namespace
}  // namespace regard::io

// Every way in which a .npy file can be wrong, with the sentence that says so.
#include "io/support.h"

namespace regard::io {
namespace {

/// A file of float32 whose dictionary has this shape and 24 bytes of data.
std::string with_shape(const std::string& shape) {
  return npy_file("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + "}",
                  ramp_bytes(DType::f32, 6));
}

std::string with_descr(const std::string& descr) {
  return npy_file("{'descr': " + descr + ", 'fortran_order': False, 'shape': (6,)}",
                  ramp_bytes(DType::f32, 6));
}

void expect_sentence(const std::string& file, const std::string& sentence) {
  EXPECT_EQ(error_of(file), "file: " + sentence);
}

TEST(NpyErrors, DataThatDoesNotFitTheShape) {
  expect_sentence(with_shape("(2, 8)"), "the header says 64 bytes of data, the file has 24");
  expect_sentence(with_shape("(5,)"), "the header says 20 bytes of data, the file has 24");
  expect_sentence(with_shape("()"), "the header says 4 bytes of data, the file has 24");
  expect_sentence(with_shape("(0, 9)"), "the header says 0 bytes of data, the file has 24");
}

TEST(NpyErrors, ShapesThatOverflow) {
  expect_sentence(with_shape("(4294967296, 4294967296)"),
                  "an array of shape (4294967296, 4294967296) passes 2^63 bytes");
  expect_sentence(with_shape("(2305843009213693952,)"),
                  "an array of shape (2305843009213693952) passes 2^63 bytes");
  expect_sentence(with_shape("(0, 4294967296, 4294967296)"),
                  "an array of shape (0, 4294967296, 4294967296) passes 2^63 bytes");
  expect_sentence(with_shape("(9223372036854775808,)"),
                  "its shape has the axis '9223372036854775808', more than 63 bits hold");
}

TEST(NpyErrors, ShapesThatMakeNoSense) {
  expect_sentence(with_shape("(2, -3)"), "its shape has the negative axis -3");
  std::string axes;
  for (int i = 0; i < 32; ++i) axes += "1, ";
  expect_sentence(with_shape("(6, " + axes + ")"), "its shape has more than 32 axes");
  const Status rank32 = [&] {
    std::vector<NamedArray> arrays;
    return read_copy(with_shape("(6, " + axes.substr(3) + ")"), arrays);
  }();
  EXPECT_TRUE(rank32.ok()) << rank32.message();
}

TEST(NpyErrors, Malformed) {
  expect_sentence(with_shape("(6)"), "the header has ')' at byte 52 where ',' belongs");
  expect_sentence(with_shape("(2 3)"), "the header has '3' at byte 53 where ',' belongs");
  expect_sentence(with_shape("(2.5,)"), "the header has '.' at byte 52 where ',' belongs");
  expect_sentence(with_shape("(,)"),
                  "the header has ',' at byte 51 where a whole number or ')' belongs");
  expect_sentence(with_shape("[6]"), "the header has '[' at byte 50 where '(' belongs");
  expect_sentence(with_shape("(6, "),
                  "the header has '}' at byte 54 where a whole number or ')' "
                  "belongs");
  expect_sentence(npy_file("{'descr' '<f4'}", ""),
                  "the header has ''' at byte 9 where ':' belongs");
  expect_sentence(npy_file("{descr: '<f4'}", ""),
                  "the header has 'd' at byte 1 where a key in quotes or '}' belongs");
  expect_sentence(npy_file("'descr'", ""), "the header has ''' at byte 0 where '{' belongs");
  expect_sentence(npy_file("{'descr': '<f4", ""),
                  "the header has ''' at byte 10 where an element type belongs");
  expect_sentence(npy_file("{'descr': [('a', '<f4')", ""),
                  "the header has '[' at byte 10 where an element type belongs");
  expect_sentence(npy_file("{'fortran_order': 0}", ""),
                  "the header has '0' at byte 18 where True or False belongs");
  expect_sentence(npy_file("{'descr': '<f4'", ""), "the header ends where ',' or '}' belongs");
  expect_sentence(npy_file("{'descr': '<f4' 'shape': ()}", ""),
                  "the header has ''' at byte 16 where ',' or '}' belongs");
  expect_sentence(with_shape("(6,)} {"),
                  "the header has '{' at byte 56 where the end of the header belongs");
}

TEST(NpyErrors, Keys) {
  expect_sentence(npy_file("{}", ""), "the header has no key 'descr'");
  expect_sentence(npy_file("{'descr': '<f4', 'shape': ()}", ""),
                  "the header has no key 'fortran_order'");
  expect_sentence(npy_file("{'descr': '<f4', 'fortran_order': False}", ""),
                  "the header has no key 'shape'");
  expect_sentence(npy_file("{'descr': '<f4', 'descr': '<f8'}", ""),
                  "the header has the key 'descr' twice");
  expect_sentence(npy_file("{'order': 'C'}", ""), "the header has the unknown key 'order'");
}

TEST(NpyErrors, ElementTypes) {
  expect_sentence(with_descr("'>f4'"),
                  "its elements are '>f4', big-endian; only little-endian files are read");
  expect_sentence(with_descr("'<i4'"),
                  "its elements are '<i4', none of '<f8', '<f4', '<f2', '<V2' (bfloat16), '|b1', "
                  "'<i8'");
  expect_sentence(with_descr("[('a', '<f4'), ('b', [('c', '<i2')])]"),
                  "its elements are '[('a', '<f4'), ('b', [('c', '<i2')])]', none of '<f8', "
                  "'<f4', '<f2', '<V2' (bfloat16), '|b1', '<i8'");
}

TEST(NpyErrors, TextFromTheFileIsShownSafely) {
  expect_sentence(npy_file("{'a\x1b[2J\xc2\x9b': 1}", ""),
                  "the header has the unknown key 'a\\x1b[2J\\xc2\\x9b'");
  const std::string sentence = error_of(npy_file("{'" + std::string(500, 'x') + "': 1}", ""));
  EXPECT_TRUE(sentence.ends_with("xxx...'"));
  EXPECT_LT(sentence.size(), 120u);
}

TEST(NpyErrors, Versions) {
  const std::string magic = "\x93NUMPY";
  const std::string rest = little_endian(0, 8);
  expect_sentence(magic + "\x04" + rest, "its .npy version is 4.0, none of 1.0, 2.0 and 3.0");
  expect_sentence(magic + "\x01\x02" + rest, "its .npy version is 1.2, none of 1.0, 2.0 and 3.0");
}

TEST(NpyErrors, CutAnywhere) {
  const std::string whole = read_bytes(data_path("c_f32.npy"));
  for (std::size_t size = 1; size < whole.size(); ++size) {
    const std::string sentence = error_of(whole.substr(0, size));
    if (size < 8) {
      EXPECT_EQ(sentence,
                "file: a .npy file starts with 8 bytes of magic and version, the file "
                "has " +
                    std::to_string(size));
    } else if (size < 10) {
      EXPECT_EQ(sentence,
                "file: the header's length ends at byte 10, the file at " + std::to_string(size));
    } else if (size < 128) {
      EXPECT_EQ(sentence, "file: the header's length is 118 bytes, the file has " +
                              std::to_string(size - 10) + " left");
    } else {
      EXPECT_EQ(sentence, "file: the header says 96 bytes of data, the file has " +
                              std::to_string(size - 128));
    }
  }
}

TEST(NpyErrors, LengthOfTheHeaderInFourBytes) {
  std::string file = read_bytes(data_path("version2.npy"));
  file.replace(8, 4, "\xff\xff\xff\xff");
  expect_sentence(file, "the header's length is 4294967295 bytes, the file has 140 left");
}

}  // namespace
}  // namespace regard::io

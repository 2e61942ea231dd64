// Every way in which a .npz file can be wrong, with the sentence that says so.
#include "io/support.h"
#include "io/zip_builder.h"

namespace regard::io {
namespace {

std::string small_npy() {
  return read_bytes(data_path("rank1.npy"));
}

/// A deflated entry of `content` whose size in the archive is `bytes`.
ZipPart deflated(const std::string& content, std::uint32_t bytes) {
  return {.name = "a.npy",
          .packed = deflate_block(content),
          .method = 8,
          .encrypted = false,
          .bytes = bytes,
          .packed_bytes = {},
          .checksum = crc32(content)};
}

void expect_sentence(const std::string& file, const std::string& sentence) {
  EXPECT_EQ(error_of(file), "file: " + sentence);
}

/// For sentences that end in numbers of the test's own or in libzip's words.
void expect_start(const std::string& file, const std::string& start) {
  const std::string sentence = error_of(file);
  EXPECT_TRUE(sentence.starts_with("file: " + start)) << sentence;
}

TEST(NpzErrors, NothingToRead) {
  expect_sentence(zip_file({}), "the archive holds no .npy entry");
  expect_sentence(zip_file({{.name = "a.txt", .packed = "a"}}), "the archive holds no .npy entry");
}

TEST(NpzErrors, OnlyOtherElementTypes) {
  expect_sentence(read_bytes(data_path("others.npz")),
                  "none of its 2 arrays is '<f8', '<f4', '<f2', '<V2' (bfloat16), '|b1', '<i8': "
                  "'ids' is '<i4'");
}

TEST(NpzErrors, CutAnywhere) {
  const std::string whole = read_bytes(data_path("deflated.npz"));
  for (std::size_t size = 4; size < whole.size(); size += 7) {
    expect_start(whole.substr(0, size), "the archive cannot be read: ");
  }
}

TEST(NpzErrors, DuplicateNames) {
  expect_sentence(zip_file({{.name = "a.npy", .packed = small_npy()},
                            {.name = "b.npy", .packed = small_npy()},
                            {.name = "a.npy", .packed = small_npy()}}),
                  "the archive has two entries 'a.npy'");
}

TEST(NpzErrors, SizesThatLie) {
  const std::string content = small_npy();
  ASSERT_EQ(content.size(), 148u);
  expect_start(zip_file({deflated(content, 4000000000)}),
               "entry 'a.npy' says 4000000000 bytes, 148 could be read");
  expect_start(zip_file({deflated(content, 149)}),
               "entry 'a.npy' says 149 bytes, 148 could be read");
  expect_sentence(zip_file({deflated(content, 147)}),
                  "entry 'a.npy' says 147 bytes, its content has more");
  expect_sentence(zip_file({deflated(content, 0)}),
                  "entry 'a.npy' says 0 bytes, its content has more");
  ZipPart stored = {.name = "a.npy", .packed = content};
  stored.bytes = 3000000000;
  expect_sentence(zip_file({stored}),
                  "entry 'a.npy' is stored, yet its size is 3000000000 bytes "
                  "and its stored size 148");
  stored.packed_bytes = 3000000000;
  expect_start(zip_file({stored}),
               "entry 'a.npy' says 3000000000 packed bytes, the file has only ");
}

TEST(NpzErrors, EntriesThatShareTheirBytes) {
  std::vector<std::string> names;
  for (char name = 'a'; name <= 'z'; ++name) names.push_back(std::string(1, name) + ".npy");
  const std::string content = read_bytes(data_path("version2.npy")) + std::string(100000, ' ');
  expect_start(shared_zip_file(names, content),
               "entry 'b.npy' says 100152 packed bytes, the file has only ");
}

TEST(NpzErrors, Checksum) {
  ZipPart part = {.name = "a.npy", .packed = small_npy()};
  part.checksum = 1;
  expect_sentence(zip_file({part}), "entry 'a.npy' cannot be read: CRC error");
}

TEST(NpzErrors, BrokenDeflate) {
  ZipPart part = deflated(small_npy(), 148);
  part.packed[0] = '\x07';  // a block type that does not exist
  expect_start(zip_file({part}), "entry 'a.npy' says 148 bytes, 0 could be read: Zlib error");
}

TEST(NpzErrors, MethodsAndEncryption) {
  expect_sentence(zip_file({{.name = "a.npy", .packed = small_npy(), .method = 12}}),
                  "entry 'a.npy' is compressed by method 12, neither stored (0) nor deflated (8)");
  expect_sentence(
      zip_file({{.name = "a.npy", .packed = small_npy(), .method = 0, .encrypted = true}}),
      "entry 'a.npy' is encrypted");
}

TEST(NpzErrors, EntriesThatAreNoArrays) {
  expect_sentence(zip_file({{.name = "a.npy", .packed = "hello, reader"}}),
                  "entry 'a.npy': does not begin with \"\\x93NUMPY\", as a .npy file does");
  expect_sentence(zip_file({{.name = "a.npy", .packed = ""}}),
                  "entry 'a.npy': a .npy file starts with 8 bytes of magic and version, the file "
                  "has 0");
  expect_sentence(zip_file({{.name = "a.npy", .packed = small_npy() + "1234"}}),
                  "entry 'a.npy': the header says 20 bytes of data, the file has 24");
}

TEST(NpzErrors, NamesAreShownSafely) {
  // Without the flag for UTF-8, byte 1b of a name is an arrow.
  expect_sentence(
      zip_file({{.name = "\x1b[2J.npy", .packed = small_npy() + "1234"}}),
      "entry '\\xe2\\x86\\x90[2J.npy': the header says 20 bytes of data, the file has 24");
}

}  // namespace
}  // namespace regard::io

// Files as such: those that are missing, of no format, of no size, or no files at all.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "io/support.h"

namespace regard::io {
namespace {

std::string error_of_path(const std::string& path) {
  std::vector<NamedArray> arrays;
  const Status status = read_arrays(path, arrays);
  EXPECT_EQ(status.code(), StatusCode::io_error);
  return status.message();
}

TEST(Files, Missing) {
  EXPECT_EQ(error_of_path("/nowhere/q.npy"),
            "/nowhere/q.npy: cannot be opened: No such file or directory");
}

TEST(Files, Directory) {
  const ScratchDirectory scratch;
  EXPECT_EQ(error_of_path(scratch.path("")), scratch.path("") + ": is a directory, not a file");
}

TEST(Files, Device) {
  EXPECT_EQ(error_of_path("/dev/zero"), "/dev/zero: is neither a regular file nor a pipe");
}

TEST(Files, Unreadable) {
  const ScratchDirectory scratch;
  const std::string path = scratch.path("q.npy");
  write_bytes(path, "x");
  ASSERT_EQ(::chmod(path.c_str(), 0), 0);
  const WithoutPrivileges plain(scratch);
  EXPECT_EQ(error_of_path(path), path + ": cannot be opened: Permission denied");
}

TEST(Files, Empty) {
  const ScratchDirectory scratch;
  write_bytes(scratch.path("q.npy"), "");
  EXPECT_EQ(error_of_path(scratch.path("q.npy")), scratch.path("q.npy") + ": the file is empty");
  EXPECT_EQ(error_of(""), "file: the file is empty");
}

TEST(Files, Text) {
  const std::string sentence =
      "file: is a text file; arrays are read from .npy, .npz and .safetensors files, which "
      "numpy.save, numpy.savez and safetensors write";
  EXPECT_EQ(error_of("1.0, 2.0, 3.0\n4.0, 5.0, 6.0\n"), sentence);
  EXPECT_EQ(error_of("{\"q\": [1, 2]}"), sentence);
  EXPECT_EQ(error_of("1234567 {"), sentence);
  EXPECT_EQ(error_of("gr\xc3\xbc\xc3\x9f"), sentence);
}

TEST(Files, OtherFormats) {
  EXPECT_EQ(error_of(std::string("\x89PNG\r\n\x1a\n\0\0", 10)),
            "file: its first bytes, 89 50 4e 47 0d 0a 1a 0a, are those of no .npy, .npz or "
            ".safetensors file");
  EXPECT_EQ(error_of(std::string(3, '\0')),
            "file: its first bytes, 00 00 00, are those of no .npy, .npz or .safetensors file");
}

TEST(Files, TheNameDoesNotMatter) {
  const ScratchDirectory scratch;
  write_bytes(scratch.path("q.txt"), read_bytes(data_path("rank1.npy")));
  EXPECT_EQ(values(read_one(scratch.path("q.txt"))), ramp_values(5));
}

TEST(Files, Pipe) {
  const ScratchDirectory scratch;
  const std::string path = scratch.path("pipe");
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const std::string content = npy_file(
      "{'descr': '<f4', 'fortran_order': False, 'shape': (70000,)}", ramp_bytes(DType::f32, 70000));
  std::thread writer([&] { write_bytes(path, content); });
  const Array array = read_one(path);
  writer.join();
  EXPECT_EQ(values(array), ramp_values(70000));
}

TEST(Files, AMappedFileMayBeReplaced) {
  const ScratchDirectory scratch;
  const std::string path = scratch.path("q.npy");
  write_bytes(path, read_bytes(data_path("fortran_f32.npy")));
  const Array before = read_one(path);
  ASSERT_TRUE(write_npy(path, before).ok());
  EXPECT_EQ(values(before), ramp_values(24));
  EXPECT_EQ(read_bytes(path), read_bytes(data_path("c_f32.npy")));
}

}  // namespace
}  // namespace regard::io

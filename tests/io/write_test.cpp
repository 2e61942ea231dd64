// Writers finish or leave nothing: full disks, targets that are no files, files that stay whole.
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "io/support.h"
#include "io/unfinished_file.h"

namespace regard::io {
namespace {

using Names = std::vector<std::string>;

/// 80 kB, more than a writer holds at a time.
Array large_array() {
  auto memory = std::make_shared<std::string>(ramp_bytes(DType::f64, 10000));
  const auto* const data = reinterpret_cast<const std::byte*>(memory->data());
  return {DType::f64, {100, 100}, {100, 1}, data, memory};
}

/// Files of this process can grow to `most_bytes` only, as on a disk with that much room.
class SmallDisk {
 public:
  explicit SmallDisk(rlim_t most_bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    handler_ = ::signal(SIGXFSZ, SIG_IGN);
    const rlimit small = {most_bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
  }
  ~SmallDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  sighandler_t handler_ = SIG_DFL;
};

using Writer = Status (*)(const std::string& path);

Status write_large_npy(const std::string& path) {
  return write_npy(path, large_array());
}

Status write_large_npz(const std::string& path) {
  return write_npz(path, std::vector<NamedArray>{{"a", large_array()}, {"b", large_array()}});
}

class BothWriters : public testing::TestWithParam<Writer> {};

INSTANTIATE_TEST_SUITE_P(Write, BothWriters, testing::Values(write_large_npy, write_large_npz),
                         [](const auto& about) { return about.index == 0 ? "npy" : "npz"; });

TEST_P(BothWriters, LeaveOnlyTheFile) {
  const ScratchDirectory scratch;
  const Status status = GetParam()(scratch.path("out"));
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(scratch.names(), Names{"out"});
  std::vector<NamedArray> arrays;
  ASSERT_TRUE(read_arrays(scratch.path("out"), arrays).ok());
  EXPECT_EQ(values(arrays.at(0).array), values(large_array()));
}

TEST_P(BothWriters, LeaveNothingOnAFullDisk) {
  for (const rlim_t room : {0, 100, 70000}) {
    const ScratchDirectory scratch;
    const SmallDisk disk(room);
    const Status status = GetParam()(scratch.path("out"));
    EXPECT_EQ(status.code(), StatusCode::io_error);
    EXPECT_EQ(status.message(), scratch.path("out") + ": cannot be written: File too large");
    EXPECT_EQ(scratch.names(), Names{});
  }
}

TEST_P(BothWriters, KeepTheOldFileOnAFullDisk) {
  const ScratchDirectory scratch;
  write_bytes(scratch.path("out"), "the old content");
  {
    const SmallDisk disk(70000);
    EXPECT_FALSE(GetParam()(scratch.path("out")).ok());
  }
  EXPECT_EQ(scratch.names(), Names{"out"});
  EXPECT_EQ(read_bytes(scratch.path("out")), "the old content");
}

TEST_P(BothWriters, SayWhatAFullDeviceSays) {
  if (::access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full";
  const Status status = GetParam()("/dev/full");
  EXPECT_EQ(status.code(), StatusCode::io_error);
  EXPECT_EQ(status.message(), "/dev/full: cannot be written: No space left on device");
  struct stat about {};
  ASSERT_EQ(::stat("/dev/full", &about), 0);
  EXPECT_TRUE(S_ISCHR(about.st_mode)) << "the device was replaced";
}

TEST_P(BothWriters, ReplaceTheFileBehindALink) {
  const ScratchDirectory scratch;
  write_bytes(scratch.path("real"), "the old content");
  ASSERT_EQ(::symlink("real", scratch.path("link").c_str()), 0);
  ASSERT_TRUE(GetParam()(scratch.path("link")).ok());
  EXPECT_TRUE(std::filesystem::is_symlink(scratch.path("link")));
  EXPECT_NE(read_bytes(scratch.path("real")), "the old content");
  EXPECT_EQ(scratch.names(), (Names{"link", "real"}));
}

TEST_P(BothWriters, KeepThePermissionsOfTheFile) {
  const ScratchDirectory scratch;
  write_bytes(scratch.path("out"), "");
  ASSERT_EQ(::chmod(scratch.path("out").c_str(), 0640), 0);
  ASSERT_TRUE(GetParam()(scratch.path("out")).ok());
  struct stat about {};
  ASSERT_EQ(::stat(scratch.path("out").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0640u);
}

TEST_P(BothWriters, GiveANewFileWhatTheUmaskLeaves) {
  const ScratchDirectory scratch;
  const mode_t before = ::umask(027);
  const Status status = GetParam()(scratch.path("out"));
  ::umask(before);
  ASSERT_TRUE(status.ok()) << status.message();
  struct stat about {};
  ASSERT_EQ(::stat(scratch.path("out").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0640u);
}

TEST_P(BothWriters, ReplaceNoFileThatMayNotBeWritten) {
  const ScratchDirectory scratch;
  write_bytes(scratch.path("out"), "the old content");
  ASSERT_EQ(::chmod(scratch.path("out").c_str(), 0440), 0);
  const WithoutPrivileges plain(scratch);
  EXPECT_EQ(GetParam()(scratch.path("out")).message(),
            scratch.path("out") + ": cannot be written: Permission denied");
  EXPECT_EQ(read_bytes(scratch.path("out")), "the old content");
}

TEST_P(BothWriters, TargetsThatCannotBe) {
  const ScratchDirectory scratch;
  EXPECT_EQ(GetParam()(scratch.path("")).message(),
            scratch.path("") + ": is a directory, so no file can be written there");
  EXPECT_EQ(GetParam()(scratch.path("no/out")).message(),
            scratch.path("no/out") + ": cannot be written: No such file or directory");
  EXPECT_EQ(GetParam()(scratch.path(std::string(5000, 'x'))).code(), StatusCode::io_error);
  EXPECT_EQ(scratch.names(), Names{});
}

TEST_P(BothWriters, LongNames) {
  const ScratchDirectory scratch;
  const std::string name(255, 'x');  // no room for a suffix
  const Status status = GetParam()(scratch.path(name));
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(scratch.names(), Names{name});
}

TEST(WriteNpy, BadRequests) {
  const ScratchDirectory scratch;
  const std::string path = scratch.path("out.npy");
  const auto expect_refusal = [&](const Array& array, const std::string& sentence) {
    const Status status = write_npy(path, array);
    EXPECT_EQ(status.code(), StatusCode::invalid_argument);
    EXPECT_EQ(status.message(), path + ": the array to write" + sentence);
    EXPECT_EQ(scratch.names(), Names{});
  };
  expect_refusal({DType::f32, {2, 3}, {1}, nullptr, nullptr}, " has 2 axes and 1 strides");
  expect_refusal({DType::f32, {2, -3}, {3, 1}, nullptr, nullptr}, " has an axis of length -3");
  expect_refusal({DType::f32, {2, 3}, {3, 1}, nullptr, nullptr}, " has 24 bytes but no data");
  const std::vector<std::int64_t> ones(33, 1);
  expect_refusal({DType::f32, ones, ones, nullptr, nullptr},
                 " has 33 axes, a file holds at most 32");
  expect_refusal({DType::f32, {1LL << 62, 2}, {2, 1}, nullptr, nullptr},
                 ", of shape (4611686018427387904, 2), passes 2^63 bytes");
}

TEST(WriteNpy, EmptyArraysNeedNoData) {
  const ScratchDirectory scratch;
  ASSERT_TRUE(write_npy(scratch.path("a"), {DType::f32, {0, 3}, {3, 1}, nullptr, nullptr}).ok());
  EXPECT_EQ(read_one(scratch.path("a")).shape, (std::vector<std::int64_t>{0, 3}));
}

TEST(UnfinishedFiles, AFailedRenameLeavesNothing) {
  const ScratchDirectory scratch;
  {
    UnfinishedFile file;
    ASSERT_TRUE(file.open(scratch.path("out")).ok());
    std::filesystem::create_directory(scratch.path("out"));
    EXPECT_EQ(file.finish().message(),
              scratch.path("out") + ": cannot be put in place: Is a directory");
  }
  EXPECT_EQ(scratch.names(), Names{"out"});
}

TEST(UnfinishedFiles, AsManyAsASignalHandlerCanSearch) {
  const ScratchDirectory scratch;
  {
    std::vector<std::unique_ptr<UnfinishedFile>> files;
    for (int i = 0; i < 16; ++i) {
      files.push_back(std::make_unique<UnfinishedFile>());
      ASSERT_TRUE(files.back()->open(scratch.path(std::to_string(i))).ok());
    }
    EXPECT_EQ(write_npy(scratch.path("out"), large_array()).message(),
              scratch.path("out") + ": 16 other files are being written, as many as can be");
    EXPECT_EQ(scratch.names().size(), 16u);
  }
  EXPECT_EQ(scratch.names(), Names{});
  EXPECT_TRUE(write_npy(scratch.path("out"), large_array()).ok());
}

}  // namespace
}  // namespace regard::io

// A program that is told to stop while it writes leaves nothing behind.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/support.h"
#include "io/unfinished_file.h"

namespace regard::io {
namespace {

constexpr int kStopped = 3;

/// Runs in a child: writes half a file and is told to stop. Returns only when something is amiss.
int write_until_stopped(const ScratchDirectory& scratch) {
  ::signal(SIGTERM, [](int) {
    remove_unfinished_files();
    ::_exit(kStopped);
  });
  UnfinishedFile file;
  if (!file.open(scratch.path("out")).ok()) return 4;
  if (!file.write(std::as_bytes(std::span("half of it"))).ok()) return 5;
  if (scratch.names().size() != 2) return 6;  // the old file and the unfinished one
  ::kill(::getpid(), SIGTERM);
  return 7;
}

TEST(Interrupt, TheHandlerRemovesWhatIsUnfinished) {
  const ScratchDirectory scratch;
  write_bytes(scratch.path("out"), "the old content");
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(write_until_stopped(scratch));
  int state = 0;
  ASSERT_EQ(::waitpid(child, &state, 0), child);
  ASSERT_TRUE(WIFEXITED(state));
  EXPECT_EQ(WEXITSTATUS(state), kStopped);
  EXPECT_EQ(scratch.names(), std::vector<std::string>{"out"});
  EXPECT_EQ(read_bytes(scratch.path("out")), "the old content");
}

TEST(Interrupt, AWriterThatGoesOnSaysSo) {
  const ScratchDirectory scratch;
  UnfinishedFile file;
  ASSERT_TRUE(file.open(scratch.path("out")).ok());
  remove_unfinished_files();
  const Status status = file.finish();
  EXPECT_EQ(status.message(),
            scratch.path("out") + ": cannot be put in place: No such file or directory");
  EXPECT_EQ(scratch.names(), std::vector<std::string>{});
}

TEST(Interrupt, FinishedFilesStay) {
  const ScratchDirectory scratch;
  UnfinishedFile file;
  ASSERT_TRUE(file.open(scratch.path("out")).ok());
  ASSERT_TRUE(file.finish().ok());
  remove_unfinished_files();
  EXPECT_EQ(scratch.names(), std::vector<std::string>{"out"});
}

}  // namespace
}  // namespace regard::io

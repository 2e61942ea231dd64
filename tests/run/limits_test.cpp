// A process with little memory left: a Status or a slower call, never a crash and never a hang.
#include <sys/mman.h>
#include <sys/resource.h>

#include <cstdio>

#include "run/child.h"
#include "run/job.h"

namespace regard::test {
namespace {

constexpr int kNoLimits = 99;

/// Lets the address space of this process grow by `bytes` more; false where the system (an
/// emulator, say) does not keep to it.
bool limit_growth(std::int64_t bytes) {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (!file) return false;
  long pages = 0;
  const int read = std::fscanf(file, "%ld", &pages);
  std::fclose(file);
  const rlim_t limit = rlim_t(pages) * rlim_t(sysconf(_SC_PAGESIZE)) + rlim_t(bytes);
  const rlimit both{limit, limit};
  if (read != 1 || setrlimit(RLIMIT_AS, &both) != 0) return false;
  return mmap(nullptr, std::size_t(2 * bytes), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
         MAP_FAILED;
}

constexpr bool kLimitsWork = !kThreadSanitizer && !kAddressSanitizer;

TEST(Limits, ScratchThatCannotBeHadIsOutOfMemory) {
  if (!kLimitsWork) GTEST_SKIP() << "sanitizers need their address space";
  // One query row of 20 million numbers, all the same one in memory: a panel of 300 MB or more,
  // which no part of the heap that earlier calls have left could hold.
  const float one = 1;
  const ConstTensor wide{&one, DType::f32, {1, 1, 1, 20'000'000}, {}};
  TestTensor<float> out({1, 1, 1, 1});
  const int code = in_child([&] {
    const Context context(1);
    if (!limit_growth(100 << 20)) return kNoLimits;
    const Status status = forward(context, wide, wide, view(&one, {1, 1, 1, 1}),
                                  {.out = out.tensor(), .lse = {}, .weights = {}});
    if (status.code() != StatusCode::out_of_memory) return 11;
    if (out.unwritten() != 1 || !out.canaries_intact()) return 12;
    return status.message().empty() ? 13 : 0;
  });
  if (code == kNoLimits) GTEST_SKIP() << "memory cannot be limited here";
  EXPECT_EQ(code, 0);
}

TEST(Limits, ThreadsThatCannotBeHadAreDoneWithout) {
  if (!kLimitsWork) GTEST_SKIP() << "sanitizers need their address space";
  const Job<float> job(2);
  const auto expected = job.run(Context(1));
  // Stacks of 200 threads do not fit; the little scratch of the call does.
  const int code = in_child([&] {
    const Context context(200);
    if (!limit_growth(100 << 20)) return kNoLimits;
    return job.run(context).same_bits(expected) ? 0 : 11;
  });
  if (code == kNoLimits) GTEST_SKIP() << "memory cannot be limited here";
  EXPECT_NE(code, kHung);
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace regard::test

// Calls from many threads on one context give the bits that each gives alone.
#include <thread>
#include <vector>

#include "run/job.h"

namespace regard::test {
namespace {

/// Several callers of one context, each with a problem of its own, some large and some tiny, so
/// that scratch of different sizes changes hands.
template <class T>
void expect_same_bits_shared(int context_threads) {
  constexpr int kCallers = 6;
  constexpr int kRepeats = 3;
  std::vector<Job<T>> jobs;
  std::vector<Result<T>> alone;
  for (int caller = 0; caller < kCallers; ++caller) {
    jobs.emplace_back(std::uint64_t(caller), caller % 3 == 2 ? kTiny : kShared);
    alone.push_back(jobs.back().run(Context(1)));
    ASSERT_TRUE(alone.back().status.ok()) << alone.back().status.message();
  }
  const Context context(context_threads);
  std::vector<int> agreements(kCallers, 0);
  std::vector<std::thread> callers;
  for (std::size_t caller = 0; caller < kCallers; ++caller) {
    callers.emplace_back([&, caller] {
      for (int repeat = 0; repeat < kRepeats; ++repeat)
        agreements[caller] += jobs[caller].run(context).same_bits(alone[caller]);
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (const int count : agreements) EXPECT_EQ(count, kRepeats);
}

class Sharing : public testing::TestWithParam<int> {};

TEST_P(Sharing, GivesTheBitsOfACallAloneInF32) {
  expect_same_bits_shared<float>(GetParam());
}

TEST_P(Sharing, GivesTheBitsOfACallAloneInF64) {
  expect_same_bits_shared<double>(GetParam());
}

// By the unit for bf16, where the CPU has one: each thread has tile registers of its own.
TEST_P(Sharing, GivesTheBitsOfACallAloneInBF16) {
  expect_same_bits_shared<BF16>(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Threads, Sharing, testing::Values(1, 2, 5));

TEST(Threads, AreUsedByALargeCall) {
  const Job<float> job(1);
  EXPECT_EQ(job.plan(Context(1)).threads, 1);
  EXPECT_EQ(job.plan(Context(2)).threads, 2);
  EXPECT_EQ(job.plan(Context(5)).threads, 5);
}

TEST(Threads, OfTheCallGiveTheSameBits) {
  Job<double> job(2);
  const Context context(5);
  const auto expected = job.run(Context(1));
  for (const int threads : {1, 2, 4, 5, 9}) {
    job.options.threads = threads;
    EXPECT_TRUE(job.run(context).same_bits(expected)) << threads;
  }
}

TEST(Threads, ScratchIsFoundAgainWhateverItHeld) {
  // The second call gets memory that the first has filled.
  const Context context(2);
  const Job<float> large(3), tiny(4, kTiny);
  const auto expected = tiny.run(Context(1));
  const auto first = large.run(context);
  EXPECT_TRUE(tiny.run(context).same_bits(expected));
  EXPECT_TRUE(large.run(context).same_bits(first));
}

}  // namespace
}  // namespace regard::test

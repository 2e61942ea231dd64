// Contexts as objects: counts of threads, moves, and calls on a context that has been moved from.
#include <utility>

#include "run/job.h"

namespace regard::test {
namespace {

TEST(Contexts, KeepTheThreadsTheyAreGiven) {
  EXPECT_EQ(Context(1).threads(), 1);
  EXPECT_EQ(Context(7).threads(), 7);
  EXPECT_GE(Context(0).threads(), 1);
  EXPECT_GE(Context(-5).threads(), 1);
}

TEST(Contexts, DoNotTakeAbsurdlyManyThreads) {
  EXPECT_LE(Context(1'000'000'000).threads(), 1024);
}

TEST(Contexts, StartNoThreadsThatACallDoesNotNeed) {
  // Neither may take long or fail: no thread of the thousand is needed.
  const Context context(1000);
  EXPECT_TRUE(Job<float>(1, kTiny).run(context).status.ok());
}

TEST(Contexts, WorkAfterAMove) {
  const Job<float> job(2);
  Context first(2);
  const auto expected = job.run(first);
  Context second = std::move(first);
  EXPECT_EQ(second.threads(), 2);
  EXPECT_TRUE(job.run(second).same_bits(expected));
  Context third(1);
  third = std::move(second);
  EXPECT_EQ(third.threads(), 2);
  EXPECT_TRUE(job.run(third).same_bits(expected));
}

TEST(Contexts, ThatWereMovedFromGiveAStatus) {
  const Job<float> job(3, kTiny);
  Context first(2);
  const Context second = std::move(first);
  // NOLINTBEGIN(bugprone-use-after-move,clang-analyzer-cplusplus.Move): this is what is tested.
  EXPECT_EQ(first.threads(), 0);
  const auto result = job.run(first);
  EXPECT_FALSE(result.status.ok());
  EXPECT_EQ(result.status.message().rfind("context: ", 0), 0U) << result.status.message();
  EXPECT_TRUE(result.untouched());
  Explanation explanation;
  EXPECT_FALSE(
      explain(first, job.in.q.view(), job.in.k.view(), job.in.v.view(), {}, {}, explanation).ok());
  // NOLINTEND(bugprone-use-after-move,clang-analyzer-cplusplus.Move)
  first = Context(1);
  EXPECT_TRUE(job.run(first).status.ok());
}

}  // namespace
}  // namespace regard::test

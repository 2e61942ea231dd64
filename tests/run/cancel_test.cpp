// The cancel hook: polled between items, from any thread; true or an exception stops the call.
#include <atomic>
#include <stdexcept>
#include <vector>

#include "run/job.h"

namespace regard::test {
namespace {

/// A hook that says yes from its poll number `yes_from` on (0: never), and counts the polls.
struct Hook {
  std::atomic<std::int64_t> polls = 0;
  std::int64_t yes_from = 0;

  std::function<bool()> function() {
    return [this] {
      const std::int64_t poll = ++polls;
      return yes_from > 0 && poll >= yes_from;
    };
  }
};

class Cancel : public testing::TestWithParam<int> {
 protected:
  Context context{GetParam()};
  Job<float> job{1};
  Hook hook;
};

TEST_P(Cancel, IsPolledForEveryItem) {
  const auto expected = job.run(context);
  job.options.cancel = hook.function();
  EXPECT_TRUE(job.run(context).same_bits(expected));
  EXPECT_GE(hook.polls, job.plan(context).main_items);
}

TEST_P(Cancel, AtTheFirstPollComputesNothing) {
  hook.yes_from = 1;
  job.options.cancel = hook.function();
  const auto result = job.run(context);
  EXPECT_EQ(result.status.code(), StatusCode::cancelled);
  EXPECT_EQ(result.status.message().rfind("cancel: ", 0), 0U) << result.status.message();
  EXPECT_TRUE(result.untouched());
  EXPECT_LE(hook.polls, GetParam());
}

TEST_P(Cancel, HalfwayStopsEveryWorker) {
  const std::int64_t items = job.plan(context).main_items;
  ASSERT_GE(items, 6);
  hook.yes_from = items / 2;
  job.options.cancel = hook.function();
  const auto result = job.run(context);
  EXPECT_EQ(result.status.code(), StatusCode::cancelled);
  EXPECT_GT(result.out.unwritten(), 0);
  EXPECT_LT(result.out.unwritten(), element_count(result.out.shape()));
  // Each worker asks at most once more.
  EXPECT_LE(hook.polls, hook.yes_from + GetParam());
}

TEST_P(Cancel, ReachesTheWeightsOfChosenRows) {
  const std::int64_t rows[] = {7, 0, 93};
  job.options.rows = rows;
  hook.yes_from = job.plan(context).main_items + 1;
  job.options.cancel = hook.function();
  const auto result = job.run(context);
  EXPECT_EQ(result.status.code(), StatusCode::cancelled);
  EXPECT_EQ(result.out.unwritten(), 0);
  EXPECT_EQ(result.weights.unwritten(), element_count(result.weights.shape()));
}

TEST_P(Cancel, AfterTheMainItemsLeavesTheWeightsAlone) {
  const std::int64_t rows[] = {7, 0, 93};
  job.options.rows = rows;
  hook.yes_from = 1;
  job.options.cancel = hook.function();
  EXPECT_TRUE(job.run(context).untouched());
  EXPECT_LE(hook.polls, GetParam());
}

TEST_P(Cancel, AHookThatThrowsStopsTheCall) {
  job.options.cancel = []() -> bool { throw std::runtime_error("no"); };
  const auto result = job.run(context);
  EXPECT_EQ(result.status.code(), StatusCode::cancelled);
  EXPECT_TRUE(result.untouched());
  job.options.cancel = []() -> bool { throw 7; };
  EXPECT_EQ(job.run(context).status.code(), StatusCode::cancelled);
}

TEST_P(Cancel, LeavesTheContextFit) {
  const auto expected = job.run(context);
  hook.yes_from = 5;
  job.options.cancel = hook.function();
  EXPECT_EQ(job.run(context).status.code(), StatusCode::cancelled);
  job.options.cancel = nullptr;
  EXPECT_TRUE(job.run(context).same_bits(expected));
}

INSTANTIATE_TEST_SUITE_P(Threads, Cancel, testing::Values(1, 3));

}  // namespace
}  // namespace regard::test

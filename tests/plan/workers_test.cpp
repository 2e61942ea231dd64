// How many workers a plan takes.
#include "plan/requests.h"

namespace regard::test {
namespace {

int workers(const ProblemShape& shape, int threads, int call_threads = 0) {
  return Planned({.shape = shape, .threads = threads, .call_threads = call_threads}).plan.workers;
}

constexpr ProblemShape kLarge{1, 8, 1, 1024, 1024, 64, 64};

RC_GTEST_PROP(Workers, AreAtLeastOneAndAtMostThreadsAndItems, ()) {
  const Planned p(any_request(2000), any_isa());
  RC_LOG() << p.request;
  const std::int64_t items = std::max(p.plan.main.items, p.plan.weights.items);
  RC_ASSERT(p.plan.workers >= 1);
  RC_ASSERT(p.plan.workers <= std::max<std::int64_t>(items, 1));
  RC_ASSERT(p.plan.workers <= p.request.threads);
  RC_ASSERT(p.request.call_threads == 0 || p.plan.workers <= p.request.call_threads);
}

TEST(Workers, AreAllThreadsOfTheContextForMuchWork) {
  for (const int threads : {1, 2, 3, 7, 16}) EXPECT_EQ(workers(kLarge, threads), threads);
}

TEST(Workers, FollowTheCallWithinTheContext) {
  EXPECT_EQ(workers(kLarge, 16, 1), 1);
  EXPECT_EQ(workers(kLarge, 16, 5), 5);
  EXPECT_EQ(workers(kLarge, 16, 16), 16);
  EXPECT_EQ(workers(kLarge, 3, 16), 3);  // there are no more
}

TEST(Workers, AreOneForLittleWork) {
  EXPECT_EQ(workers({1, 1, 1, 1, 1, 1, 1}, 64), 1);
  EXPECT_EQ(workers({1, 1, 1, 16, 16, 32, 32}, 64), 1);
  EXPECT_EQ(workers({1, 1, 1, 0, 4096, 64, 64}, 64), 1);
  EXPECT_EQ(workers({0, 8, 1, 4096, 4096, 64, 64}, 64), 1);
}

TEST(Workers, HaveItemsToShareEvenlyForMuchWork) {
  const Planned p({.shape = kLarge, .threads = 8});
  EXPECT_GE(p.plan.main.items, 4 * p.plan.workers);
}

TEST(Workers, ShareTheRowsOfFewHeadsEvenly) {
  for (const dispatch::Isa& isa : dispatch::isas()) {
    for (const std::int64_t heads : {1, 2, 5, 8}) {
      for (const std::int64_t length : {128, 256, 512, 1024, 1040, 4096}) {
        for (const int threads : {2, 3, 4}) {
          const Planned p({.shape = {1, heads, 1, length, length, 64, 64}, .threads = threads},
                          isa);
          const plan::Phase& phase = p.plan.main;
          const std::int64_t turns = (phase.items + threads - 1) / threads;
          const double even = double(heads * length) / threads;
          const double vector = double(p.plan.kernel->rows_per_vector);
          EXPECT_LE(double(turns * phase.item_size), 1.1 * even + 2 * vector)
              << isa.name << ' ' << heads << " heads of " << length << " on " << threads;
        }
      }
    }
  }
}

}  // namespace
}  // namespace regard::test

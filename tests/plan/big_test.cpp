// Shapes near the longest axes: counts and sizes equal those of 128-bit arithmetic.
#include <limits>

#include "plan/requests.h"
#include "plan/task.h"

namespace regard::test {
namespace {

// Wide enough for every product here.
using Wide = __int128;

constexpr std::int64_t kLongest = (std::int64_t{1} << 31) - 1;

class Big : public testing::TestWithParam<Request> {};

void expect_whole(const Planned& p, const plan::Phase& phase, std::int64_t list_rows) {
  EXPECT_EQ(Wide{phase.length}, Wide{list_rows} * p.request.shape.group);
  EXPECT_GT(phase.items_per_space, 0);
  EXPECT_EQ(Wide{phase.items}, Wide{p.spaces()} * phase.items_per_space);
  EXPECT_GE(Wide{phase.item_size} * phase.items_per_space, Wide{phase.length});
  EXPECT_LT(Wide{phase.item_size} * (phase.items_per_space - 1), Wide{phase.length});
  EXPECT_LE(phase.item_size, p.plan.kernel->most_groups * p.plan.kernel->rows_per_group);
}

TEST_P(Big, CountsDoNotOverflow) {
  for (const dispatch::Isa& isa : dispatch::isas()) {
    const Planned p(GetParam(), isa);
    expect_whole(p, p.plan.main, p.request.shape.sq);
    EXPECT_LE(p.plan.workers, p.request.threads);
    EXPECT_GE(p.plan.ranges_bytes, 8 * problem::distinct_ranges(p.problem) * p.request.shape.sq);
    EXPECT_GT(p.plan.worker_bytes, 0);
    EXPECT_EQ(Wide{p.plan.scratch_bytes},
              Wide{p.plan.ranges_bytes} + Wide{p.plan.workers} * p.plan.worker_bytes);
  }
}

TEST_P(Big, FirstAndLastItemAreWhereTheyBelong) {
  const Planned p(GetParam());
  const plan::Phase& phase = p.plan.main;
  const auto first = plan::make_task(p.problem, p.plan, phase, 0, 0, fake_address(9));
  EXPECT_EQ(first.q.data, fake_address(1));
  EXPECT_EQ(first.row_end, phase.length);
  EXPECT_GT(first.row_end, first.row_begin);
  const int worker = p.plan.workers - 1;
  const auto last =
      plan::make_task(p.problem, p.plan, phase, phase.items - 1, worker, fake_address(9));
  const ProblemShape& s = p.request.shape;
  const std::int64_t head = (s.batch - 1) * s.kv_heads + s.kv_heads - 1;
  EXPECT_EQ(last.k.data, fake_address(2) + head * s.skv * s.d * p.plan.kernel->element_bytes);
  EXPECT_EQ(last.row_begin, 0);
  EXPECT_EQ(last.scratch - fake_address(9), p.plan.ranges_bytes + worker * p.plan.worker_bytes);
}

const Request kBig[] = {
    {.shape = {1, 1, 1, kLongest, kLongest, 64, 64}, .threads = 2},
    {.shape = {1, 1, 1, kLongest, kLongest, 1, 1},
     .dtype = DType::f64,
     .causal = Causal::top_left,
     .q_offset = {-kLongest},
     .threads = 1024},
    {.shape = {kLongest, 1, 1, 1, 1, 64, 64}, .threads = 1024},
    {.shape = {kLongest, 128, 1, 1, 1, 8, 8}, .threads = 7},
    {.shape = {1, 1, kLongest, 1, 1, 8, 8}, .threads = 3},
    {.shape = {1 << 20, 8, 8, 4096, 4096, 128, 128}, .threads = 64},
    {.shape = {1, 1, 1, 64, 64, kLongest, kLongest}, .dtype = DType::f64, .threads = 1024},
};
INSTANTIATE_TEST_SUITE_P(Shapes, Big, testing::ValuesIn(kBig));

TEST(BigThreads, AsManyAsAnIntHoldsDoNotOverflowTheScratch) {
  // Broadcast inputs make a head size and a number of rows sound that no memory could hold apart.
  const Planned small(Request{});
  problem::Problem p = small.problem;
  p.batch = p.sq = p.d = kLongest;
  p.threads = std::numeric_limits<int>::max();
  const plan::Plan plan = plan::make_plan(p, *small.isa.table, 2);
  EXPECT_EQ(Wide{plan.scratch_bytes},
            Wide{plan.ranges_bytes} + Wide{plan.workers} * plan.worker_bytes);
}

}  // namespace
}  // namespace regard::test

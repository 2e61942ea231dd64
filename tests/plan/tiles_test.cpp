// count_tiles against brute force over every (row, key) of every head.
#include <algorithm>
#include <vector>

#include "plan/requests.h"

namespace regard::test {
namespace {

std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// Tiles in which some row of the row space of batch entry b sees some key.
std::int64_t tiles_seen(const Planned& p, std::int64_t b) {
  const ProblemShape& s = p.request.shape;
  const std::int64_t width = p.plan.kernel->rows_per_group, keys = p.plan.kernel->keys_per_tile;
  const std::int64_t across = divide_up(s.skv, keys);
  std::vector<bool> seen(std::size_t(divide_up(s.sq * s.group, width) * across), false);
  for (std::int64_t row = 0; row < s.sq * s.group; ++row) {
    const problem::KeyRange range = problem::visible_keys(p.problem, b, row / s.group);
    for (std::int64_t key = range.lo; key < range.hi; ++key)
      seen[std::size_t(row / width * across + key / keys)] = true;
  }
  return std::count(seen.begin(), seen.end(), true);
}

RC_GTEST_PROP(Tiles, AreCountedAsBruteForceCountsThem, ()) {
  Request request = any_request(130);
  request.out = true;
  const Planned p(request, any_isa());
  RC_LOG() << p.request;
  const ProblemShape& s = request.shape;
  std::int64_t visited = 0;
  for (std::int64_t b = 0; b < s.batch; ++b) visited += s.kv_heads * tiles_seen(p, b);
  const std::int64_t total = p.spaces() * divide_up(s.sq * s.group, p.plan.kernel->rows_per_group) *
                             divide_up(s.skv, p.plan.kernel->keys_per_tile);
  const plan::TileCount count = plan::count_tiles(p.problem, p.plan);
  RC_ASSERT(count.visited == visited);
  RC_ASSERT(count.total == total);
}

TEST(Tiles, AreNoneWhereOutAndLseAreNotWanted) {
  const Planned p({.shape = {1, 1, 1, 50, 50, 8, 8},
                   .rows = {3, 4},
                   .out = false,
                   .lse = false,
                   .weights = true});
  const plan::TileCount count = plan::count_tiles(p.problem, p.plan);
  EXPECT_EQ(count.visited, 0);
  EXPECT_EQ(count.total, 0);
  EXPECT_GT(p.plan.weights.items, 0);
}

}  // namespace
}  // namespace regard::test

// Parts of the scratch do not overlap and stay inside it, and all of it obeys a bound that holds
// neither Sq * Skv nor, beyond 8 bytes a row, the batch.
#include <algorithm>

#include "plan/requests.h"
#include "plan/task.h"

namespace regard::test {
namespace {

struct Part {
  std::int64_t begin, end;
};

std::int64_t round_up(std::int64_t value, std::int64_t step) {
  return (value + step - 1) / step * step;
}

/// What an item of `worker` writes, as contract/direct.h describes it; offsets from the scratch.
void add_worker_parts(const Planned& p, const contract::DirectTask& task, std::int64_t start,
                      std::vector<Part>& parts) {
  const contract::DirectKernel& kernel = *p.plan.kernel;
  const std::int64_t row_bytes = kernel.rows_per_group * kernel.element_bytes;
  const std::int64_t dims = round_up(task.dims, kernel.depth);
  const std::int64_t value_dims = round_up(task.value_dims, kernel.columns_per_tile);
  parts.push_back({start, start + kernel.keys_per_block * row_bytes});
  if (plan::converts_inputs(p.problem)) {
    const std::int64_t key_bytes = kernel.panel_keys * kernel.operand_bytes;
    const std::int64_t keys = start + task.layout.keys_bytes;
    const std::int64_t values = start + task.layout.values_bytes;
    parts.push_back({keys, keys + dims * key_bytes});
    parts.push_back({values, values + value_dims * key_bytes});
  }
  const std::int64_t groups =
      round_up(task.row_end - task.row_begin, kernel.rows_per_group) / kernel.rows_per_group;
  for (std::int64_t g = 0; g < groups; ++g) {
    const std::int64_t group = start + task.layout.groups_bytes + g * task.layout.group_size_bytes;
    const std::int64_t out = group + task.layout.out_bytes;
    const std::int64_t state = group + task.layout.state_bytes;
    parts.push_back({group, group + dims * kernel.rows_per_group * kernel.operand_bytes});
    parts.push_back({out, out + value_dims * row_bytes});
    parts.push_back({state, state + kernel.state_values_per_row * row_bytes});
  }
}

void assert_apart(std::vector<Part> parts, std::int64_t total) {
  std::ranges::sort(parts, {}, &Part::begin);
  std::int64_t reach = 0;
  for (const Part& part : parts) {
    RC_ASSERT(part.begin >= reach);
    reach = part.end;
  }
  RC_ASSERT(reach <= total);
}

RC_GTEST_PROP(Scratch, PartsStayApartAndInside, ()) {
  const Planned p(any_request(1200), any_isa());
  RC_LOG() << p.request;
  std::byte* const scratch = fake_address(9);
  const std::int64_t ranges = problem::distinct_ranges(p.problem) * p.request.shape.sq;
  const auto [lo, hi] = plan::range_arrays(p.problem, scratch);
  const std::int64_t lo_at = reinterpret_cast<std::byte*>(lo) - scratch;
  const std::int64_t hi_at = reinterpret_cast<std::byte*>(hi) - scratch;
  for (const plan::Phase* phase : p.phases()) {
    if (phase->items == 0) continue;
    std::vector<Part> parts = {{lo_at, lo_at + 4 * ranges}, {hi_at, hi_at + 4 * ranges}};
    for (int worker = 0; worker < p.plan.workers; ++worker) {
      // The last item in memory order, then the first: the largest an item can be.
      const auto task =
          plan::make_task(p.problem, p.plan, *phase, phase->items_per_space - 1, worker, scratch);
      RC_ASSERT((task.scratch - scratch) % 64 == 0);
      RC_ASSERT(task.layout.groups_bytes % 64 == 0 && task.layout.group_size_bytes % 64 == 0);
      RC_ASSERT(task.layout.out_bytes % 64 == 0 && task.layout.state_bytes % 64 == 0);
      RC_ASSERT(task.layout.keys_bytes % 64 == 0 && task.layout.values_bytes % 64 == 0);
      add_worker_parts(p, task, task.scratch - scratch, parts);
    }
    assert_apart(parts, p.plan.scratch_bytes);
  }
}

/// A worker holds P of one block, K and V of one block where they are not read in place, and row
/// groups of D + Dv + T + S values a row (T pads D and Dv to whole tiles, S is the row state): one
/// group, or as many as fit into what an item takes of L2. All workers share the key ranges, 8
/// bytes a row of every batch entry that has ranges of its own.
std::int64_t scratch_bound(const Planned& p) {
  const contract::DirectKernel& kernel = *p.plan.kernel;
  const ProblemShape& s = p.request.shape;
  const std::int64_t row_bytes = kernel.rows_per_group * kernel.element_bytes;
  const std::int64_t dims = s.d + kernel.depth + s.dv + kernel.columns_per_tile;
  const std::int64_t values = dims + kernel.state_values_per_row;
  const std::int64_t padding = 4 * 64;
  const bool converts = plan::converts_inputs(p.problem);
  const std::int64_t panel_bytes = converts ? kernel.panel_keys * dims * kernel.operand_bytes : 0;
  const std::int64_t group_bytes = values * row_bytes + padding;
  const std::int64_t block_bytes = kernel.keys_per_block * row_bytes + panel_bytes + padding;
  const std::int64_t worker_bytes = block_bytes + std::max(group_bytes, kernel.item_bytes);
  return 8 * problem::distinct_ranges(p.problem) * s.sq + padding + p.plan.workers * worker_bytes;
}

RC_GTEST_PROP(Scratch, ObeysItsBound, ()) {
  const Planned p(any_request(100'000), any_isa());
  RC_LOG() << p.request;
  RC_ASSERT(p.plan.scratch_bytes > 0);
  RC_ASSERT(p.plan.scratch_bytes <= scratch_bound(p));
}

TEST(Scratch, OfTheLongestAxesObeysTheBound) {
  const std::int64_t longest = (std::int64_t{1} << 31) - 1;
  for (const dispatch::Isa& isa : dispatch::isas()) {
    for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
      const Planned p({.shape = {1, 1, 1, longest, longest, 128, 128},
                       .dtype = dtype,
                       .path = dtype == DType::bf16 ? Path::tiles : Path::direct,
                       .causal = Causal::bottom_right,
                       .threads = 64},
                      isa);
      EXPECT_LE(p.plan.scratch_bytes, scratch_bound(p)) << isa.name;
      // 64 workers need less than 512 KiB each beside the ranges and their row groups.
      EXPECT_LE(p.plan.scratch_bytes, 8 * longest + 64 * (p.plan.kernel->item_bytes + (512 << 10)))
          << isa.name;
    }
  }
}

TEST(Scratch, DoesNotGrowWithKeysHeadsOrBatch) {
  for (const Path path : {Path::direct, Path::tiles}) {
    const auto bytes = [path](const ProblemShape& shape) {
      return Planned({.shape = shape, .dtype = DType::bf16, .path = path, .threads = 4})
          .plan.scratch_bytes;
    };
    const std::int64_t base = bytes({1, 4, 1, 4096, 4096, 64, 64});
    EXPECT_EQ(bytes({1, 4, 1, 4096, 1 << 20, 64, 64}), base);
    EXPECT_EQ(bytes({64, 4, 1, 4096, 4096, 64, 64}), base);
    EXPECT_EQ(bytes({1, 64, 1, 4096, 4096, 64, 64}), base);
  }
}

}  // namespace
}  // namespace regard::test

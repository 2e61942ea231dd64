#include "plan/plan.h"

#include <algorithm>

#include "base/aligned_buffer.h"
#include "problem/visible.h"

namespace regard::plan {
namespace {

using contract::DirectKernel;
using problem::Problem;

constexpr auto kAlignment = std::int64_t{base::AlignedBuffer::kAlignment};
// Row groups of one item share a pass over K and V; together they fill about this much of L2.
constexpr std::int64_t kItemBytes = 512 * 1024;
// Items for each worker, so that the last ones even out.
constexpr std::int64_t kItemsPerWorker = 4;
// Below this many multiply-adds a second thread costs more than it brings (about 20 us of work).
constexpr double kLeastWorkPerThread = 1e6;

std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}
std::int64_t align(std::int64_t bytes) {
  return divide_up(bytes, kAlignment) * kAlignment;
}

contract::DirectLayout make_layout(const Problem& p, const DirectKernel& kernel) {
  const std::int64_t row_bytes = kernel.rows_per_group * kernel.element_bytes;
  const std::int64_t out_dims = divide_up(p.dv, kernel.keys_per_tile) * kernel.keys_per_tile;
  contract::DirectLayout layout;
  layout.group_offset_bytes = align(kernel.keys_per_block * row_bytes);
  layout.out_offset_bytes = align(p.d * row_bytes);
  layout.state_offset_bytes = layout.out_offset_bytes + align(out_dims * row_bytes);
  layout.group_bytes = layout.state_offset_bytes + align(kernel.state_values_per_row * row_bytes);
  return layout;
}

int count_workers(const Problem& p, int threads) {
  const double work =
      double(p.batch) * double(p.heads) * double(p.sq) * double(p.skv) * double(p.d + p.dv);
  const double useful = std::max(1.0, work / kLeastWorkPerThread);
  return int(std::min(double(std::max(threads, 1)), useful));
}

Phase make_phase(const Problem& p, const Plan& plan, std::int64_t list_rows) {
  const std::int64_t width = plan.kernel->rows_per_group;
  const std::int64_t heads = p.batch * p.kv_heads;
  Phase phase;
  phase.rows = list_rows * p.group;
  const std::int64_t groups = divide_up(phase.rows, width);
  if (heads * groups == 0) return phase;
  std::int64_t most =
      std::clamp(kItemBytes / plan.layout.group_bytes, std::int64_t{1}, plan.kernel->most_groups);
  if (plan.workers > 1) {
    const std::int64_t wanted = plan.workers * kItemsPerWorker;
    most = std::clamp(heads * groups / wanted, std::int64_t{1}, most);
  }
  phase.items_per_head = divide_up(groups, most);
  phase.rows_per_item = divide_up(groups, phase.items_per_head) * width;
  phase.items_per_head = divide_up(phase.rows, phase.rows_per_item);
  phase.items = heads * phase.items_per_head;
  return phase;
}

}  // namespace

Plan make_plan(const Problem& p, const contract::KernelTable& table, int threads) noexcept {
  Plan plan;
  plan.path_reason = p.path == Path::automatic ? "the only path of this version" : "asked for";
  plan.kernel = p.dtype == DType::f64 ? table.direct_f64 : table.direct_f32;
  plan.workers = count_workers(p, p.threads > 0 ? std::min(p.threads, threads) : threads);
  plan.layout = make_layout(p, *plan.kernel);
  const bool chosen_rows = p.outputs.weights.data && !p.rows.empty();
  const bool all_weights = p.outputs.weights.data && p.rows.empty();
  if (p.outputs.out.data || p.outputs.lse.data || all_weights) {
    plan.main = make_phase(p, plan, p.sq);
    plan.main.writes_main = true;
    plan.main.writes_weights = all_weights;
  }
  if (chosen_rows) {
    plan.weights = make_phase(p, plan, std::int64_t(p.rows.size()));
    plan.weights.writes_weights = true;
    plan.weights.chosen_rows = true;
  }
  const std::int64_t items = std::max(plan.main.items, plan.weights.items);
  plan.workers = int(std::min<std::int64_t>(plan.workers, std::max<std::int64_t>(items, 1)));
  const std::int64_t item_rows = std::max(plan.main.rows_per_item, plan.weights.rows_per_item);
  const std::int64_t groups = divide_up(item_rows, plan.kernel->rows_per_group);
  plan.ranges_bytes =
      align(2 * std::int64_t{sizeof(std::int32_t)} * problem::distinct_ranges(p) * p.sq);
  plan.worker_bytes = plan.layout.group_offset_bytes + groups * plan.layout.group_bytes;
  plan.scratch_bytes = plan.ranges_bytes + plan.workers * plan.worker_bytes;
  return plan;
}

TileCount count_tiles(const Problem& p, const Plan& plan) noexcept {
  const std::int64_t width = plan.kernel->rows_per_group;
  const std::int64_t keys = plan.kernel->keys_per_tile;
  const std::int64_t distinct = problem::distinct_ranges(p);
  const std::int64_t repeats = p.kv_heads * (p.batch / std::max<std::int64_t>(distinct, 1));
  TileCount count;
  for (std::int64_t b = 0; b < std::min(distinct, p.batch); ++b) {
    for (std::int64_t first = 0; first < plan.main.rows; first += width) {
      const std::int64_t last = std::min(first + width, plan.main.rows) - 1;
      std::int64_t lo = p.skv;
      std::int64_t hi = 0;
      for (std::int64_t i = first / p.group; i <= last / p.group; ++i) {
        const problem::KeyRange range = problem::visible_keys(p, b, i);
        if (range.lo >= range.hi) continue;
        lo = std::min(lo, range.lo);
        hi = std::max(hi, range.hi);
      }
      if (lo < hi) count.visited += (divide_up(hi, keys) - lo / keys) * repeats;
      count.total += divide_up(p.skv, keys) * repeats;
    }
  }
  return count;
}

}  // namespace regard::plan

#include "plan/task.h"

#include <algorithm>
#include <utility>

#include "plan/place.h"
#include "problem/visible.h"

namespace regard::plan {
namespace {

using contract::DirectTask;
using contract::Source;
using contract::Target;
using problem::Problem;

void set_inputs(const Problem& p, const Place& place, DirectTask& task) {
  task.q = rows_of<Source>(p, p.q, place, place.head, p.sequences.q);
  task.k = rows_of<Source>(p, p.k, place, place.kv_head, p.sequences.kv);
  task.v = rows_of<Source>(p, p.v, place, place.kv_head, p.sequences.kv);
  task.score = make_score(p, place);
}

void set_outputs(const Problem& p, const Place& place, DirectTask& task) {
  const Outputs& o = p.outputs;
  const auto target = [&](const Tensor& tensor) {
    return rows_of<Target>(p, tensor, place, place.head, p.sequences.q);
  };
  task.out = target(o.out);
  task.lse = target(o.lse);
  task.entropy = target(o.entropy);
  task.top_weights = target(o.top_weights);
  task.top_keys = target(o.top_keys);
  task.top_count = problem::top_count(o);
}

void set_weights(const Problem& p, const Place& place, DirectTask& task) {
  task.weights = memory_of<Target>(p.outputs.weights, place.b, place.head, 0);
  task.weights_stage = contract::Stage(p.weights_stage);
}

/// m, 1/l and share of all rows, three (B, Hq, Sq) arrays behind the ranges.
void set_kept(const Problem& p, const Plan& plan, const Place& place, std::byte* scratch,
              DirectTask& task) {
  if (plan.kept_bytes == 0) return;
  const std::int64_t rows = p.q.shape[2];
  const Tensor kept{scratch + plan.ranges_bytes,
                    p.compute,
                    {},
                    {p.heads * rows, rows, 1, p.q.shape[0] * p.heads * rows}};
  task.kept = rows_of<Target>(p, kept, place, place.head, p.sequences.q);
}

/// Masses are written by key: the row axis of their view is that of the keys.
void set_mass(const Problem& p, const Place& place, DirectTask& task) {
  Tensor by_key = p.outputs.key_mass;
  std::swap(by_key.strides[2], by_key.strides[3]);
  task.mass = rows_of<Target>(p, by_key, place, place.head, p.sequences.kv);
  std::swap(task.mass.row, task.mass.column);
}

/// Out and LSE of its rows are those of `decode`, and nothing else is wanted.
bool wants_nothing(const DirectTask& task) {
  return !task.out.data && !task.lse.data && !task.entropy.data && !task.weights.data &&
         !task.kept.data && task.top_count == 0;
}

}  // namespace

RangeArrays range_arrays(const Problem& p, std::byte* scratch) noexcept {
  auto* lo = reinterpret_cast<std::int32_t*>(scratch);
  return {lo, lo + problem::stored_ranges(p)};
}

void fill_ranges(const Problem& p, const RangeArrays& ranges) noexcept {
  const std::int64_t batches = std::min(problem::distinct_ranges(p), p.batch);
  for (std::int64_t b = 0; b < batches; ++b) {
    const std::int64_t rows = p.packed() ? problem::row_count(p, b) : p.sq;
    const std::int64_t first = problem::first_range(p, b);
    const problem::KeyRule rule = problem::key_rule(p, b);
    for (std::int64_t i = 0; i < rows; ++i) {
      const problem::KeyRange range = rule.row(i);
      ranges.lo[first + i] = std::int32_t(range.lo);
      ranges.hi[first + i] = std::int32_t(range.hi);
    }
  }
}

DirectTask make_task(const Problem& p, const Plan& plan, const Phase& phase, std::int64_t item,
                     int worker, std::byte* scratch) noexcept {
  const bool mass = phase.kind == Phase::Kind::mass;
  const std::int64_t space = item / phase.items_per_space;
  const std::int64_t part = phase.items_per_space - 1 - item % phase.items_per_space;
  const std::int64_t spaces = mass ? p.heads : p.kv_heads;
  const std::int64_t group = mass ? 1 : p.group;
  Place place{.b = space / spaces, .head = space % spaces * group};
  place.kv_head = place.head / p.group;
  DirectTask task;
  set_inputs(p, place, task);
  task.keys = p.packed() ? problem::key_count(p, place.b) : p.skv;
  task.dims = p.d;
  task.value_dims = p.dv;
  task.group = group;
  const RangeArrays ranges = range_arrays(p, scratch);
  const std::int64_t row0 = problem::first_range(p, place.b);
  task.lo = ranges.lo + row0;
  task.hi = ranges.hi + row0;
  task.scratch = scratch + plan.ranges_bytes + plan.kept_bytes + worker * plan.worker_bytes;
  task.layout = plan.layout;
  // Packed rows past the end of a sequence are another's.
  const std::int64_t rows = p.packed() ? problem::row_count(p, place.b) * group : phase.length;
  const std::int64_t begin = part * phase.item_size;
  switch (phase.kind) {
    case Phase::Kind::rows:
      set_outputs(p, place, task);
      if (decodes(p, plan.decode_rows, place.b)) task.out = task.lse = {};
      if (p.rows.empty()) set_weights(p, place, task);
      set_kept(p, plan, place, scratch, task);
      break;
    case Phase::Kind::chosen:
      set_weights(p, place, task);
      task.rows = p.rows.data();
      break;
    case Phase::Kind::mass:
      set_kept(p, plan, place, scratch, task);
      set_mass(p, place, task);
      task.row_end = problem::row_count(p, place.b);
      task.key_begin = begin;
      task.key_end = std::min(begin + phase.item_size, task.keys);
      return task;
  }
  task.row_begin = begin;
  task.row_end = std::min(begin + phase.item_size, rows);
  if (wants_nothing(task)) task.row_end = begin;
  return task;
}

}  // namespace regard::plan

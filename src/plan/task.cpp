#include "plan/task.h"

#include <algorithm>

#include "base/status_text.h"
#include "problem/visible.h"

namespace regard::plan {
namespace {

using contract::DirectTask;
using problem::Problem;

/// Address of element (b, h, 0, 0).
const std::byte* head_address(const ConstTensor& tensor, std::int64_t b, std::int64_t h) {
  return static_cast<const std::byte*>(tensor.data) +
         (b * tensor.strides[0] + h * tensor.strides[1]) * element_bytes(tensor.dtype);
}
std::byte* head_address(const Tensor& tensor, std::int64_t b, std::int64_t h) {
  return static_cast<std::byte*>(tensor.data) +
         (b * tensor.strides[0] + h * tensor.strides[1]) * element_bytes(tensor.dtype);
}

void set_inputs(const Problem& p, std::int64_t b, std::int64_t kv_head, DirectTask& task) {
  task.q = head_address(p.q, b, kv_head * p.group);
  task.k = head_address(p.k, b, kv_head);
  task.v = head_address(p.v, b, kv_head);
  task.q_head = p.q.strides[1];
  task.q_row = p.q.strides[2];
  task.q_dim = p.q.strides[3];
  task.k_row = p.k.strides[2];
  task.k_dim = p.k.strides[3];
  task.v_row = p.v.strides[2];
  task.v_dim = p.v.strides[3];
}

void set_outputs(const Problem& p, const Phase& phase, std::int64_t b, std::int64_t head,
                 DirectTask& task) {
  const Outputs& outputs = p.outputs;
  if (phase.writes_main && outputs.out.data) {
    task.out = head_address(outputs.out, b, head);
    task.out_head = outputs.out.strides[1];
    task.out_row = outputs.out.strides[2];
    task.out_dim = outputs.out.strides[3];
  }
  if (phase.writes_main && outputs.lse.data) {
    task.lse = head_address(outputs.lse, b, head);
    task.lse_head = outputs.lse.strides[1];
    task.lse_row = outputs.lse.strides[2];
  }
  if (phase.writes_weights) {
    task.weights = head_address(outputs.weights, b, head);
    task.weights_head = outputs.weights.strides[1];
    task.weights_row = outputs.weights.strides[2];
    task.weights_key = outputs.weights.strides[3];
  }
}

}  // namespace

RangeArrays range_arrays(const Problem& p, std::byte* scratch) noexcept {
  auto* lo = reinterpret_cast<std::int32_t*>(scratch);
  return {lo, lo + problem::distinct_ranges(p) * p.sq};
}

void fill_ranges(const Problem& p, const RangeArrays& ranges) noexcept {
  const std::int64_t batches = std::min(problem::distinct_ranges(p), p.batch);
  for (std::int64_t b = 0; b < batches; ++b) {
    for (std::int64_t i = 0; i < p.sq; ++i) {
      const problem::KeyRange range = problem::visible_keys(p, b, i);
      ranges.lo[b * p.sq + i] = std::int32_t(range.lo);
      ranges.hi[b * p.sq + i] = std::int32_t(range.hi);
    }
  }
}

DirectTask make_task(const Problem& p, const Plan& plan, const Phase& phase, std::int64_t item,
                     int worker, std::byte* scratch) noexcept {
  const std::int64_t space = item / phase.items_per_head;
  const std::int64_t part = phase.items_per_head - 1 - item % phase.items_per_head;
  const std::int64_t b = space / p.kv_heads;
  const std::int64_t kv_head = space % p.kv_heads;
  DirectTask task;
  set_inputs(p, b, kv_head, task);
  set_outputs(p, phase, b, kv_head * p.group, task);
  task.keys = p.skv;
  task.dims = p.d;
  task.value_dims = p.dv;
  task.group = p.group;
  task.scale = p.scale;
  const RangeArrays ranges = range_arrays(p, scratch);
  const std::int64_t row0 = problem::distinct_ranges(p) > 1 ? b * p.sq : 0;
  task.lo = ranges.lo + row0;
  task.hi = ranges.hi + row0;
  task.rows = phase.chosen_rows ? p.rows.data() : nullptr;
  task.row_begin = part * phase.rows_per_item;
  task.row_end = std::min(task.row_begin + phase.rows_per_item, phase.rows);
  task.scratch = scratch + plan.ranges_bytes + worker * plan.worker_bytes;
  task.layout = plan.layout;
  return task;
}

}  // namespace regard::plan

// The arguments of decode's work items.
#include <algorithm>
#include <new>
#include <span>

#include "plan/decode_plan.h"
#include "plan/place.h"
#include "plan/rounding.h"
#include "plan/task.h"
#include "problem/visible.h"

namespace regard::plan {
namespace {

using contract::DecodeSequence;
using problem::Problem;

// The kernels' formats are the caller's, number by number.
static_assert(int(contract::RowFormat::q4_0) == int(KvType::q4_0));

struct Parts {
  std::uint64_t* trees = nullptr;
  DecodeSequence* sequences = nullptr;
  std::byte* partials = nullptr;
  std::byte* workers = nullptr;
};

Parts parts_of(const DecodePlan& plan, std::byte* scratch) {
  std::byte* trees = scratch + plan.ranges_bytes;
  std::byte* sequences = trees + plan.trees_bytes;
  std::byte* partials = sequences + plan.sequences_bytes;
  return {reinterpret_cast<std::uint64_t*>(trees), reinterpret_cast<DecodeSequence*>(sequences),
          partials, partials + plan.partials_bytes};
}

contract::KeyRows key_rows(const KvRows& rows, std::int64_t head) {
  contract::KeyRows own{.format = contract::RowFormat(rows.type),
                        .data = static_cast<const std::byte*>(rows.data),
                        .page = rows.page_bytes,
                        .row = rows.token_bytes};
  if (own.data) own.data += head * rows.head_bytes;
  if (kv_scale_bytes(rows.type, rows.head_size) == 0) return own;
  own.scales = static_cast<const std::byte*>(rows.scales);
  if (own.scales) own.scales += head * rows.scale_head_bytes;
  own.scale_page = rows.scale_page_bytes;
  own.scale_row = rows.scale_token_bytes;
  return own;
}

contract::RowFormat format_of(DType dtype) {
  return dtype == DType::f64   ? contract::RowFormat::f64
         : dtype == DType::f32 ? contract::RowFormat::f32
         : dtype == DType::f16 ? contract::RowFormat::f16
                               : contract::RowFormat::bf16;
}

/// Of a tensor of a plain call, whose columns may be apart.
contract::KeyRows tensor_rows(const Problem& p, const ConstTensor& tensor, const Place& place) {
  const auto memory = rows_of<contract::Source>(p, tensor, place, place.kv_head, p.sequences.kv);
  // The stride of an axis of 1 may be any number.
  const auto step = [&](std::size_t axis) {
    return tensor.shape[axis] > 1 ? tensor.strides[axis] * memory.element_bytes : std::int64_t{0};
  };
  return {.format = format_of(tensor.dtype),
          .data = static_cast<const std::byte*>(memory.data),
          .page = 0,
          .row = step(2),
          .column = step(3),
          .dense = tensor.shape[3] == 1 || tensor.strides[3] == 1};
}

/// Where the sequence's keys lie.
void set_keys(const DecodeSource& source, const Place& place, DecodeSequence& sequence) {
  const Problem& p = source.problem;
  if (!source.cache) {
    sequence.k = tensor_rows(p, p.k, place);
    sequence.v = tensor_rows(p, p.v, place);
    return;
  }
  sequence.k = key_rows(source.cache->k, place.kv_head);
  sequence.v = key_rows(source.cache->v, place.kv_head);
  sequence.pages = source.cache->page_tables[std::size_t(place.b)];
  sequence.page_keys = source.cache->page_tokens;
  sequence.first = source.cache->keep_first;
}

/// Keys that a ring has dropped are hidden from every row.
void hide_dropped(const DecodeSource& source, const RangeArrays& ranges) {
  const Problem& p = source.problem;
  if (!source.cache || source.cache->held_from.empty()) return;
  for (std::int64_t n = 0; n < p.batch; ++n) {
    const std::int64_t first = problem::first_range(p, n);
    const std::int64_t held =
        std::min(source.cache->held_from[std::size_t(n)], problem::key_count(p, n));
    const std::int64_t rows = p.packed() ? problem::row_count(p, n) : p.sq;
    for (std::int64_t i = first; i < first + rows; ++i) {
      ranges.lo[i] = std::max(ranges.lo[i], std::int32_t(held));
    }
  }
}

/// Bit t of a row's word: the row itself, or an ancestor, is row t.
void fill_trees(const DecodeSource& source, std::uint64_t* trees) {
  const Problem& p = source.problem;
  if (source.parents.empty()) return;
  for (std::int64_t n = 0; n < p.batch; ++n) {
    const std::int64_t first = problem::first_row(p, n);
    const std::int64_t rows = problem::row_count(p, n);
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::int64_t parent = source.parents[std::size_t(first + i)];
      trees[first + i] =
          std::uint64_t{1} << i | (parent < 0 ? std::uint64_t{0} : trees[first + parent]);
    }
  }
}

DecodeSequence make_sequence(const DecodeSource& source, const DecodePlan& plan, std::int64_t n,
                             std::int64_t kv_head, std::byte* scratch) {
  const Problem& p = source.problem;
  const Parts parts = parts_of(plan, scratch);
  const Place place{.b = n, .head = kv_head * p.group, .kv_head = kv_head};
  const RangeArrays ranges = range_arrays(p, scratch);
  const std::int64_t row0 = problem::first_range(p, n);
  DecodeSequence sequence;
  sequence.q = rows_of<contract::Source>(p, p.q, place, place.head, p.sequences.q);
  sequence.out = rows_of<contract::Target>(p, p.outputs.out, place, place.head, p.sequences.q);
  sequence.lse = rows_of<contract::Target>(p, p.outputs.lse, place, place.head, p.sequences.q);
  set_keys(source, place, sequence);
  sequence.keys = problem::key_count(p, n);
  sequence.score = make_score(p, place);
  sequence.lo = ranges.lo + row0;
  sequence.hi = ranges.hi + row0;
  if (!source.parents.empty()) {
    sequence.tree = parts.trees + problem::first_row(p, n);
    sequence.tree_begin = sequence.keys - problem::row_count(p, n);
  }
  sequence.rows = decode_rows(source, n);
  const std::int64_t chunks = divide_up(sequence.keys, plan.kernel->keys_per_chunk);
  const std::int64_t elements =
      plan.partials[std::size_t(n)] + kv_head * sequence.rows * chunks * plan.partial_size;
  sequence.partials = parts.partials + elements * plan.kernel->element_bytes;
  return sequence;
}

/// Which group or sequence an item belongs to, and its place there.
struct Slot {
  std::int64_t owner = 0;
  std::int64_t at = 0;
};
Slot slot_of(const DecodePhase& phase, std::int64_t item) {
  const auto after = std::ranges::upper_bound(phase.starts, item);
  const auto owner = after - phase.starts.begin() - 1;
  return {owner, item - phase.starts[std::size_t(owner)]};
}

}  // namespace

void fill_decode(const DecodeSource& source, const DecodePlan& plan, std::byte* scratch) noexcept {
  const Problem& p = source.problem;
  const RangeArrays ranges = range_arrays(p, scratch);
  fill_ranges(p, ranges);
  hide_dropped(source, ranges);
  const Parts parts = parts_of(plan, scratch);
  fill_trees(source, parts.trees);
  for (std::int64_t head = 0; head < p.kv_heads; ++head) {
    for (std::int64_t n = 0; n < p.batch; ++n) {
      new (parts.sequences + head * p.batch + n)
          DecodeSequence(make_sequence(source, plan, n, head, scratch));
    }
  }
}

void run_decode_item(const DecodeSource& source, const DecodePlan& plan, const DecodePhase& phase,
                     std::int64_t item, int worker, std::byte* scratch) noexcept {
  const Problem& p = source.problem;
  const Parts parts = parts_of(plan, scratch);
  const Slot slot = slot_of(phase, item);
  if (phase.kind == DecodePhase::Kind::finish) {
    const DecodeSequence& sequence = parts.sequences[slot.at * p.batch + slot.owner];
    plan.kernel->finish({.sequence = &sequence,
                         .row_end = sequence.rows,
                         .dims = p.d,
                         .value_dims = p.dv,
                         .group = p.group});
    return;
  }
  const bool shared = phase.kind == DecodePhase::Kind::shared;
  const auto owner = std::size_t(slot.owner);
  const SharedKeys own{.first = slot.owner, .rows = parts.sequences[slot.owner].rows};
  const SharedKeys& group = shared ? plan.groups[owner] : own;
  const std::int64_t begin = shared ? 0 : plan.shared_keys[owner];
  const std::int64_t end = shared ? group.keys : parts.sequences[slot.owner].keys;
  const std::int64_t chunk = plan.kernel->keys_per_chunk;
  const std::int64_t chunks = divide_up(end, chunk) - begin / chunk;
  const std::int64_t rest = slot.at / chunks;
  const std::int64_t head_parts = divide_up(p.kv_heads, plan.heads_per_item);
  const std::int64_t head = rest % head_parts * plan.heads_per_item;
  contract::DecodeTask task{.sequences = parts.sequences + head * p.batch + group.first,
                            .heads = std::min(plan.heads_per_item, p.kv_heads - head),
                            .head_step = p.batch,
                            .dims = p.d,
                            .value_dims = p.dv,
                            .group = p.group,
                            .layout = plan.layout,
                            .requests = plan.requests};
  const std::int64_t first = (begin / chunk + slot.at % chunks) * chunk;
  task.key_begin = std::max(first, begin);
  task.key_end = std::min(first + chunk, end);
  task.resumes = task.key_begin > first;
  task.row_begin = rest / head_parts * plan.rows_per_item;
  task.row_end = std::min(task.row_begin + plan.rows_per_item, group.rows);
  task.scratch = parts.workers + worker * plan.worker_bytes;
  plan.kernel->run(task);
}

}  // namespace regard::plan

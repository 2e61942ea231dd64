#include "plan/decode_plan.h"

#include <algorithm>

#include "plan/plan.h"
#include "plan/rounding.h"
#include "problem/visible.h"

namespace regard::plan {
namespace {

using contract::DecodeKernel;
using problem::Problem;

/// Keys at the start of both sequences that lie in the same pages.
std::int64_t common_keys(const KvView& cache, std::size_t a, std::size_t b) {
  const std::int64_t most = std::min(cache.lengths[a], cache.lengths[b]);
  const bool same_ring =
      cache.held_from.empty() || std::max(cache.held_from[a], cache.held_from[b]) == 0;
  if (!same_ring) return 0;
  std::int64_t keys = 0;
  while (keys < most && cache.page_tables[a][keys / cache.page_tokens] ==
                            cache.page_tables[b][keys / cache.page_tokens]) {
    keys += cache.page_tokens;
  }
  return std::min(keys, most);
}

/// Takes sequences into a group as long as each shares at least a chunk with all before it.
void group_sequences(const DecodeSource& source, DecodePlan& plan) {
  const Problem& p = source.problem;
  const std::int64_t block = plan.kernel->keys_per_block;
  for (std::int64_t n = 0; n < p.batch; ++n) {
    const std::int64_t rows = decode_rows(source, n);
    if (source.cache && !plan.groups.empty()) {
      SharedKeys& group = plan.groups.back();
      const std::int64_t before = group.count == 1 ? INT64_MAX : group.keys;
      const std::int64_t common =
          std::min(before, common_keys(*source.cache, std::size_t(group.first), std::size_t(n))) /
          block * block;
      if (common >= plan.kernel->keys_per_chunk) {
        group.keys = common;
        group.count += 1;
        group.rows += rows;
        continue;
      }
    }
    plan.groups.push_back({.first = n, .rows = rows});
  }
  for (const SharedKeys& group : plan.groups) {
    plan.shared_keys.insert(plan.shared_keys.end(), std::size_t(group.count), group.keys);
  }
}

std::int64_t row_parts(const DecodePlan& plan, std::int64_t rows) {
  return divide_up(rows, plan.rows_per_item);
}

/// Most passes of an item and one KV head.
std::int64_t passes_of_head(const DecodePlan& plan) {
  std::int64_t rows = 1;
  for (const SharedKeys& group : plan.groups) rows = std::max(rows, group.rows);
  return divide_up(std::min(rows, plan.rows_per_item), plan.kernel->rows_per_pass);
}

/// A page holds the rows of its heads one after another, and memory gives most where it is read
/// from end to end: heads of pages up to a block go together as long as the workers have enough
/// items. Where a head's block has few bytes, its arithmetic counts for more, and every line is
/// better asked for (int8 over pages of 64 on Zen 4: 15.3 GB/s apart, 13.4 together). `items` are
/// those of one head, in the phase that has fewer; four a worker leave room to even out.
std::int64_t heads_together(const DecodeSource& source, const DecodePlan& plan,
                            std::int64_t items) {
  constexpr std::int64_t kItemsPerWorker = 4;
  constexpr std::int64_t kLeastBytes = 16384;
  const Problem& p = source.problem;
  const std::int64_t block = plan.kernel->keys_per_block;
  if (!source.cache || source.cache->page_tokens > block) return 1;
  const KvRows& rows = source.cache->k;
  const bool one_after_another = rows.head_bytes == source.cache->page_tokens * rows.token_bytes;
  if (!one_after_another || block * rows.token_bytes < kLeastBytes) return 1;
  const std::int64_t most = std::min(p.kv_heads, plan.kernel->most_passes / passes_of_head(plan));
  return std::max(std::min(p.kv_heads * items / (kItemsPerWorker * plan.workers), most),
                  std::int64_t{1});
}

void count_items(const DecodeSource& source, DecodePlan& plan) {
  const Problem& p = source.problem;
  const std::int64_t chunk = plan.kernel->keys_per_chunk;
  plan.shared.kind = DecodePhase::Kind::shared;
  plan.finish.kind = DecodePhase::Kind::finish;
  std::int64_t items = 0;
  for (const SharedKeys& group : plan.groups) {
    plan.shared.starts.push_back(items);
    items += divide_up(group.keys, chunk) * row_parts(plan, group.rows);
  }
  plan.shared.starts.push_back(items);
  items = 0;
  for (std::int64_t n = 0; n < p.batch; ++n) {
    const std::int64_t keys = problem::key_count(p, n);
    const std::int64_t chunks = divide_up(keys, chunk) - plan.shared_keys[std::size_t(n)] / chunk;
    plan.own.starts.push_back(items);
    items += chunks * row_parts(plan, decode_rows(source, n));
    plan.finish.starts.push_back(n * p.kv_heads);
  }
  plan.own.starts.push_back(items);
  plan.finish.starts.push_back(p.batch * p.kv_heads);
  const std::int64_t shared = plan.shared.items();
  const std::int64_t least = shared > 0 && items > 0 ? std::min(shared, items) : shared + items;
  plan.heads_per_item = heads_together(source, plan, least);
  const std::int64_t parts = divide_up(p.kv_heads, plan.heads_per_item);
  for (DecodePhase* phase : {&plan.shared, &plan.own}) {
    for (std::int64_t& start : phase->starts) start *= parts;
  }
}

contract::DecodeLayout make_layout(const DecodeSource& source, const DecodePlan& plan) {
  const Problem& p = source.problem;
  const DecodeKernel& kernel = *plan.kernel;
  const std::int64_t columns = round_up(std::max(p.d, p.dv), kernel.columns_per_chunk);
  contract::DecodeLayout layout;
  layout.scales_bytes = kernel.keys_per_block * align(columns * kernel.element_bytes);
  layout.passes_bytes = layout.scales_bytes + kernel.keys_per_block * align(columns / 16 + 4);
  const std::int64_t a_row = (p.bias.data ? kernel.keys_per_block : 0) +
                             round_up(p.d, kernel.columns_per_chunk) +
                             round_up(p.dv, kernel.columns_per_chunk);
  layout.pass_size_bytes =
      kernel.pass_bytes + align(kernel.rows_per_pass * kernel.element_bytes * a_row);
  return layout;
}

void take_scratch(const DecodeSource& source, DecodePlan& plan) {
  const Problem& p = source.problem;
  const DecodeKernel& kernel = *plan.kernel;
  plan.partial_size = kernel.partial_values + round_up(p.dv, kernel.columns_per_chunk);
  std::int64_t partials = 0;
  for (std::int64_t n = 0; n < p.batch; ++n) {
    const std::int64_t rows = decode_rows(source, n);
    plan.partials.push_back(partials);
    partials += p.kv_heads * rows * divide_up(problem::key_count(p, n), kernel.keys_per_chunk) *
                plan.partial_size;
  }
  const auto all_rows = std::int64_t(source.parents.size());
  plan.ranges_bytes = align(2 * std::int64_t{sizeof(std::int32_t)} * problem::stored_ranges(p));
  plan.trees_bytes = align(all_rows * std::int64_t{sizeof(std::uint64_t)});
  plan.sequences_bytes =
      align(p.batch * p.kv_heads * std::int64_t{sizeof(contract::DecodeSequence)});
  plan.partials_bytes = align(partials * kernel.element_bytes);
  plan.worker_bytes = plan.layout.passes_bytes +
                      plan.heads_per_item * passes_of_head(plan) * plan.layout.pass_size_bytes;
  plan.scratch_bytes = plan.ranges_bytes + plan.trees_bytes + plan.sequences_bytes +
                       plan.partials_bytes + plan.workers * plan.worker_bytes;
}

/// Pairs are for `precision` default: their instruction counts q and k below 2^-126 as 0.
const DecodeKernel* choose_kernel(const DecodeSource& source, const contract::KernelTable& table) {
  const Problem& p = source.problem;
  if (p.compute == DType::f64) return table.decode_f64;
  const bool bf16_keys =
      source.cache ? source.cache->k.type == KvType::bf16 && source.cache->v.type == KvType::bf16
                   : p.k.dtype == DType::bf16;
  const bool pairs = table.decode_bf16 && bf16_keys && p.q.dtype == DType::bf16 &&
                     p.precision == Precision::default_;
  return pairs ? table.decode_bf16 : table.decode_f32;
}

}  // namespace

std::int64_t decode_rows(const DecodeSource& source, std::int64_t n) noexcept {
  const Problem& p = source.problem;
  if (!decodes(p, source.most_rows, n)) return 0;
  return p.group * (p.packed() ? problem::row_count(p, n) : p.sq);
}

DecodePlan make_decode_plan(const DecodeSource& source, const contract::KernelTable& table,
                            int threads) {
  const Problem& p = source.problem;
  DecodePlan plan;
  plan.kernel = choose_kernel(source, table);
  if (table.decode_requests) plan.requests = *table.decode_requests;
  plan.rows_per_item = plan.kernel->rows_per_pass * plan.kernel->most_passes;
  group_sequences(source, plan);
  plan.layout = make_layout(source, plan);
  double work = 0;
  for (std::int64_t n = 0; n < p.batch; ++n) {
    work += double(decode_rows(source, n) * p.kv_heads) * double(problem::key_count(p, n));
  }
  plan.workers = useful_workers(work * double(p.d + p.dv),
                                p.threads > 0 ? std::min(p.threads, threads) : threads);
  count_items(source, plan);
  const std::int64_t items = std::max({plan.shared.items(), plan.own.items(), std::int64_t{1}});
  plan.workers = int(std::min<std::int64_t>(plan.workers, items));
  take_scratch(source, plan);
  return plan;
}

}  // namespace regard::plan

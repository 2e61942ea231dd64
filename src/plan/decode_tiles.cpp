// How many tiles decode computes of those there are.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "plan/decode_plan.h"
#include "plan/rounding.h"
#include "problem/visible.h"

namespace regard::plan {
namespace {

/// The stretch of keys that an item's rows are taken through, in blocks, and which of these some
/// row sees: sums of `edges` are numbers of stretches seen.
struct Blocks {
  std::int64_t begin = 0, end = 0, keys = 1;
  std::vector<std::int32_t> edges;

  Blocks(std::int64_t first, std::int64_t last, std::int64_t keys_per_block)
      : begin(first), end(last), keys(keys_per_block), edges(std::size_t(count()) + 1, 0) {}

  std::int64_t count() const { return divide_up(std::max<std::int64_t>(end - begin, 0), keys); }
  void see(std::int64_t lo, std::int64_t hi) {
    lo = std::max(lo, begin);
    hi = std::min(hi, end);
    if (lo >= hi) return;
    edges[std::size_t((lo - begin) / keys)] += 1;
    edges[std::size_t(divide_up(hi - begin, keys))] -= 1;
  }
  std::int64_t seen() const {
    std::int64_t found = 0;
    std::int32_t depth = 0;
    for (std::int64_t n = 0; n < count(); ++n) found += (depth += edges[std::size_t(n)]) > 0;
    return found;
  }
};

/// What row i of sequence n sees, but for mask and bias.
void see_row(const DecodeSource& source, std::int64_t n, std::int64_t i, Blocks& blocks) {
  const problem::Problem& p = source.problem;
  problem::KeyRange range = problem::visible_keys(p, n, i);
  if (range.hi < 0) return;
  std::int64_t first = 0;
  if (source.cache) {
    first = std::min(source.cache->keep_first, range.hi);
    if (!source.cache->held_from.empty()) {
      range.lo = std::max(range.lo, source.cache->held_from[std::size_t(n)]);
    }
  }
  const std::int64_t rows = source.parents.empty() ? 0 : problem::row_count(p, n);
  const std::int64_t tree = problem::key_count(p, n) - rows;
  blocks.see(0, std::min(first, tree));
  blocks.see(range.lo, std::min(range.hi, tree));
  const std::int64_t row0 = problem::first_row(p, n);
  for (std::int64_t t = rows > 0 ? i : -1; t >= 0; t = source.parents[std::size_t(row0 + t)]) {
    const std::int64_t key = tree + t;
    if (key < first || (key >= range.lo && key < range.hi)) blocks.see(key, key + 1);
  }
}

/// Tiles of one KV head: those of rows [0, group.rows) and the blocks of keys [begin, end).
TileCount count_group(const DecodeSource& source, const DecodePlan& plan, const SharedKeys& group,
                      Blocks blocks) {
  TileCount count;
  for (std::int64_t begin = 0; begin < group.rows; begin += plan.rows_per_item) {
    const std::int64_t end = std::min(begin + plan.rows_per_item, group.rows);
    std::ranges::fill(blocks.edges, 0);
    std::int64_t first = 0;  // row of the group where the sequence begins
    for (std::int64_t n = group.first; n < group.first + group.count; ++n) {
      const std::int64_t rows = decode_rows(source, n);
      const std::int64_t from = std::max(begin - first, std::int64_t{0});
      const std::int64_t to = std::min(end - first, rows);
      const std::int64_t heads = source.problem.group;
      for (std::int64_t i = from / heads; i * heads < to; ++i) see_row(source, n, i, blocks);
      first += rows;
    }
    const std::int64_t passes = divide_up(end - begin, plan.kernel->rows_per_pass);
    count.visited += passes * blocks.seen();
    count.total += passes * blocks.count();
  }
  return count;
}

}  // namespace

TileCount count_tiles(const DecodeSource& source, const DecodePlan& plan) {
  const problem::Problem& p = source.problem;
  const std::int64_t block = plan.kernel->keys_per_block;
  TileCount count;
  const auto add = [&](const SharedKeys& group, std::int64_t begin, std::int64_t end) {
    const TileCount own = count_group(source, plan, group, {begin, end, block});
    count.visited += p.kv_heads * own.visited;
    count.total += p.kv_heads * own.total;
  };
  for (const SharedKeys& group : plan.groups) {
    if (group.keys > 0) add(group, 0, group.keys);
  }
  for (std::int64_t n = 0; n < p.batch; ++n) {
    add({.first = n, .rows = decode_rows(source, n)}, plan.shared_keys[std::size_t(n)],
        problem::key_count(p, n));
  }
  return count;
}

}  // namespace regard::plan

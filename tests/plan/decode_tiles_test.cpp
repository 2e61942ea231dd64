// count_tiles of decode over caches: against brute force over every row and key, and by hand where
// sequences share keys.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "dispatch/dispatch.h"
#include "plan/decode_plan.h"
#include "problem/decode_call.h"

namespace regard::test {
namespace {

constexpr std::int64_t kKvHeads = 2, kGroup = 3, kHeadSize = 8, kPageTokens = 16, kBlock = 64;

std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// A call over pages that hold nothing: a plan reads no tensor memory.
struct Planned {
  std::vector<std::vector<std::int32_t>> tables;
  std::vector<const std::int32_t*> pointers;
  std::vector<std::int64_t> lengths, held_from, starts, parents;
  std::int64_t keep_first = 0;
  Options options;

  plan::DecodePlan plan;

  /// The first `shared` tokens of all sequences lie in the same pages.
  Planned(std::vector<std::int64_t> tokens, const std::vector<std::int64_t>& rows,
          std::int64_t shared = 0)
      : lengths(std::move(tokens)), starts{0} {
    std::int32_t page = 0;
    for (const std::int64_t length : lengths) {
      std::vector<std::int32_t>& table = tables.emplace_back();
      for (std::int64_t t = 0; t < length; t += kPageTokens) {
        table.push_back(t < shared ? std::int32_t(t / kPageTokens) : 1000 + page++);
      }
    }
    for (const auto& table : tables) pointers.push_back(table.data());
    for (const std::int64_t count : rows) starts.push_back(starts.back() + count);
  }

  plan::TileCount count() {
    constexpr std::int64_t kPages = 5000;
    alignas(64) static float memory[16];
    KvView view;
    view.k = view.v = kv_rows_hnd(memory, KvType::f16, kKvHeads, kPageTokens, kHeadSize);
    view.kv_heads = kKvHeads;
    view.page_tokens = kPageTokens;
    view.pages = kPages;
    view.page_tables = pointers;
    view.lengths = lengths;
    view.held_from = held_from;
    view.keep_first = keep_first;
    const Shape shape = {1, kKvHeads * kGroup, starts.back(), kHeadSize};
    const ConstTensor q{memory, DType::f32, shape, dense_strides(shape)};
    const Outputs outputs{
        .out = {memory, DType::f32, shape, dense_strides(shape)}, .lse = {}, .weights = {}};
    problem::DecodeCall call;
    const Status status =
        problem::make_decode_call(q, view, {starts, parents}, outputs, options, call);
    EXPECT_TRUE(status.ok()) << status.message();
    const plan::DecodeSource source{call.problem, &call.cache, call.rows.parents};
    plan = plan::make_decode_plan(source, *dispatch::chosen().isa->table, 1);
    return plan::count_tiles(source, plan);
  }
  std::int64_t passes(std::int64_t rows) const {
    return divide_up(rows, plan.kernel->rows_per_pass);
  }
};

/// Whether row i of a sequence's `rows` sees a key, from the definition.
bool sees(const Planned& p, std::size_t n, std::int64_t rows, std::int64_t i, std::int64_t key) {
  const bool causal = p.options.causal == Causal::bottom_right;
  const std::int64_t position = causal ? i + p.lengths[n] - rows : i;
  if (causal && key > position) return false;
  if (!p.parents.empty() && key >= p.lengths[n] - rows) {
    std::int64_t t = i;
    while (t >= 0 && p.lengths[n] - rows + t != key) t = p.parents[std::size_t(p.starts[n] + t)];
    if (t < 0) return false;
  }
  if (key < p.keep_first) return true;
  if (!p.held_from.empty() && key < p.held_from[n]) return false;
  return p.options.window.left < 0 || key >= position - p.options.window.left;
}

/// Of sequences that share nothing, each of so few rows that one item has them all.
void expect_brute_force(Planned& p) {
  const plan::TileCount count = p.count();
  plan::TileCount expected;
  for (std::size_t n = 0; n < p.lengths.size(); ++n) {
    const std::int64_t rows = p.starts[n + 1] - p.starts[n];
    ASSERT_LE(rows * kGroup, p.plan.rows_per_item);
    for (std::int64_t begin = 0; begin < p.lengths[n]; begin += kBlock) {
      bool seen = false;
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t key = begin; key < std::min(begin + kBlock, p.lengths[n]); ++key) {
          seen = seen || sees(p, n, rows, i, key);
        }
      }
      const std::int64_t tiles = kKvHeads * p.passes(rows * kGroup);
      expected.total += tiles;
      if (seen) expected.visited += tiles;
    }
  }
  EXPECT_EQ(count.visited, expected.visited);
  EXPECT_EQ(count.total, expected.total);
}

TEST(DecodeTiles, AreCountedAsBruteForceCountsThem) {
  for (const Causal causal : {Causal::none, Causal::bottom_right}) {
    for (const std::int64_t left : {-1, 0, 63, 64, 200}) {
      for (const std::int64_t keep_first : {0, 4, 70}) {
        SCOPED_TRACE(std::to_string(left) + " left, first " + std::to_string(keep_first));
        Planned p({1, 64, 65, 700, 1300}, {1, 2, 10, 5, 4});
        p.options.causal = causal;
        p.options.window = {left, -1};
        p.keep_first = keep_first;
        expect_brute_force(p);
        p.held_from = {0, 60, 64, 600, 1290};
        expect_brute_force(p);
      }
    }
  }
}

// The rows of a tree see its last keys one by one: row 3 alone would leave a block out.
TEST(DecodeTiles, FollowTrees) {
  for (const std::int64_t left : {-1, 2}) {
    Planned p({67, 130}, {5, 3});
    p.parents = {-1, -1, 1, 2, 3, -1, 0, 0};
    p.options.causal = Causal::bottom_right;
    p.options.window = {left, -1};
    expect_brute_force(p);
  }
}

TEST(DecodeTiles, OfSharedKeysCountOnce) {
  Planned alone({2048 + 70, 2048 + 10, 2048 + 1}, {1, 1, 1});
  const std::int64_t total = alone.count().total;
  EXPECT_EQ(total, kKvHeads * alone.passes(kGroup) * (34 + 33 + 33));
  Planned shared({2048 + 70, 2048 + 10, 2048 + 1}, {1, 1, 1}, 2048);
  const plan::TileCount count = shared.count();
  const std::int64_t together = shared.passes(3 * kGroup) * 32;
  EXPECT_EQ(count.total, kKvHeads * (together + shared.passes(kGroup) * (2 + 1 + 1)));
  EXPECT_EQ(count.visited, count.total);
  shared.options.causal = Causal::bottom_right;
  shared.options.window = {100, 0};
  // The longest sees from 2017 on, the others from 1957 and 1948: blocks 30 and 31 of 32.
  EXPECT_EQ(shared.count().visited,
            kKvHeads * (shared.passes(3 * kGroup) * 2 + shared.passes(kGroup) * (2 + 1 + 1)));
}

TEST(DecodeTiles, OfManyRowsAreCountedItemByItem) {
  Planned p({1000}, {200});
  const plan::TileCount count = p.count();
  EXPECT_EQ(count.visited, count.total);
  EXPECT_EQ(count.total, kKvHeads * p.passes(200 * kGroup) * 16);
  p.options.causal = Causal::bottom_right;
  p.options.window = {0, 0};  // a row sees one key
  std::int64_t visited = 0;
  for (std::int64_t begin = 0; begin < 200 * kGroup; begin += p.plan.rows_per_item) {
    const std::int64_t end = std::min(begin + p.plan.rows_per_item, 200 * kGroup);
    const std::int64_t first = 800 + begin / kGroup, last = 800 + (end - 1) / kGroup;
    visited += p.passes(end - begin) * (last / kBlock - first / kBlock + 1);
  }
  EXPECT_EQ(p.count().visited, kKvHeads * visited);
}

}  // namespace
}  // namespace regard::test

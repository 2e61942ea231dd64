// Which KV heads of a cache an item of decode takes together.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "dispatch/dispatch.h"
#include "plan/decode_plan.h"
#include "problem/decode_call.h"

namespace regard::test {
namespace {

struct Pool {
  std::int64_t kv_heads = 8, head_size = 64, page_tokens = 64;
  std::int64_t tokens = 8192;  ///< of each sequence
  std::int64_t sequences = 1;  ///< all of them over the same pages
  bool hnd = true;
  int threads = 1;
};

/// One query row a sequence and KV head; a plan reads no tensor memory.
plan::DecodePlan plan_of(const Pool& pool) {
  alignas(64) static float memory[16];
  std::vector<std::int32_t> table;
  for (std::int64_t t = 0; t < pool.tokens; t += pool.page_tokens) {
    table.push_back(std::int32_t(table.size()));
  }
  const std::vector<const std::int32_t*> tables(std::size_t(pool.sequences), table.data());
  const std::vector<std::int64_t> lengths(tables.size(), pool.tokens);
  std::vector<std::int64_t> starts;
  for (std::int64_t n = 0; n <= pool.sequences; ++n) starts.push_back(n);
  KvView view;
  view.k = pool.hnd
               ? kv_rows_hnd(memory, KvType::f32, pool.kv_heads, pool.page_tokens, pool.head_size)
               : kv_rows_nhd(memory, KvType::f32, pool.kv_heads, pool.page_tokens, pool.head_size);
  view.v = view.k;
  view.kv_heads = pool.kv_heads;
  view.page_tokens = pool.page_tokens;
  view.pages = std::int64_t(table.size());
  view.page_tables = tables;
  view.lengths = lengths;
  const Shape shape = {1, pool.kv_heads, pool.sequences, pool.head_size};
  const ConstTensor q{memory, DType::f32, shape, dense_strides(shape)};
  const Outputs outputs{
      .out = {memory, DType::f32, shape, dense_strides(shape)}, .lse = {}, .weights = {}};
  problem::DecodeCall call;
  const Status status = problem::make_decode_call(q, view, {starts, {}}, outputs, {}, call);
  EXPECT_TRUE(status.ok()) << status.message();
  return plan::make_decode_plan({call.problem, &call.cache, call.rows.parents},
                                *dispatch::chosen().isa->table, pool.threads);
}

// Pages up to a block of 64 keys whose heads lie one after another, 16 KiB a head and block.
TEST(DecodeHeads, GoTogetherWhereShortPagesHoldThemOneAfterAnother) {
  EXPECT_EQ(plan_of({}).heads_per_item, 8);
  EXPECT_EQ(plan_of({.page_tokens = 16}).heads_per_item, 8);
  EXPECT_EQ(plan_of({.page_tokens = 128}).heads_per_item, 1);
  EXPECT_EQ(plan_of({.head_size = 63}).heads_per_item, 1);
  EXPECT_EQ(plan_of({.hnd = false}).heads_per_item, 1);
}

// Four items a worker, and as many heads in the last part as there are left.
TEST(DecodeHeads, LeaveEveryWorkerItems) {
  const plan::DecodePlan plan = plan_of({.kv_heads = 6, .tokens = 3 * 1024});
  EXPECT_EQ(plan.heads_per_item, 4);
  EXPECT_EQ(plan.own.items(), 3 * 2);
  EXPECT_EQ(plan_of({.tokens = 1024}).heads_per_item, 2);
  EXPECT_EQ(plan_of({.kv_heads = 2, .tokens = 1024}).heads_per_item, 1);
  const plan::DecodePlan two = plan_of({.tokens = 4096, .threads = 2});
  ASSERT_EQ(two.workers, 2);
  EXPECT_EQ(two.heads_per_item, 4);
}

// Sequences that share all of their keys leave items to the shared phase alone.
TEST(DecodeHeads, CountItemsOfThePhaseThatHasThem) {
  const plan::DecodePlan plan = plan_of({.tokens = 2048, .sequences = 3});
  EXPECT_EQ(plan.own.items(), 0);
  EXPECT_EQ(plan.heads_per_item, 4);
  EXPECT_EQ(plan.shared.items(), 2 * 2);
}

}  // namespace
}  // namespace regard::test

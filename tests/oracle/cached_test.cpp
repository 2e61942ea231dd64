// Questions over a cache's numbers: types of their own, and what a ring hides.
#include <gtest/gtest.h>

#include "oracle/rows.h"
#include "support/random.h"

namespace regard::test {
namespace {

TEST(OracleCached, TypesOfKeysAndValuesAreTheirOwn) {
  const auto q = normal_tensor<F16>({1, 2, 3, 5}, 1);
  const auto k = normal_tensor<double>({1, 1, 7, 5}, 2), v = normal_tensor<double>({1, 1, 7, 4}, 3);
  const auto v32 = v.copy<float>();
  Oracle oracle;
  Status status = oracle.prepare_cached(q.view(), k.view(), v32.view(), {});
  ASSERT_TRUE(status.ok()) << status.message();
  const auto wide_q = q.copy<double>(), wide_v = v32.copy<double>();
  OracleRow row;
  for_each_index({1, 2, 3, 1}, [&](auto b, auto h, auto i, auto) {
    ASSERT_TRUE(oracle.row(b, h, i, row).ok());
    const OracleRow expected = oracle_row(wide_q.view(), k.view(), wide_v.view(), {}, b, h, i);
    EXPECT_EQ(row.out, expected.out);
    EXPECT_EQ(row.scores, expected.scores);
  });
}

TEST(OracleCached, ARingHidesWhatItDropped) {
  const auto q = normal_tensor<float>({2, 1, 2, 4}, 1);
  const auto k = normal_tensor<float>({2, 1, 9, 4}, 2), v = normal_tensor<float>({2, 1, 9, 4}, 3);
  const std::int64_t held_from[] = {5, 3};
  const HeldKeys held{held_from, 2};
  const auto seen = [&](const Options& options, std::int64_t b, std::int64_t i) {
    Oracle oracle;
    EXPECT_TRUE(oracle.prepare_cached(q.view(), k.view(), v.view(), options, held).ok());
    OracleRow row;
    EXPECT_TRUE(oracle.row(b, 0, i, row).ok());
    std::string keys;
    for (const double p : row.weights) keys += p > 0 ? 'x' : '.';
    return keys;
  };
  Options options;
  EXPECT_EQ(seen(options, 0, 0), "xx...xxxx");
  EXPECT_EQ(seen(options, 1, 0), "xx.xxxxxx");
  // The first keys lie behind no left end, but a right end hides them as any key.
  options.window = {1, 0};
  options.causal = Causal::bottom_right;
  EXPECT_EQ(seen(options, 1, 1), "xx.....xx");
  options.causal = Causal::none;
  EXPECT_EQ(seen(options, 0, 0), "x........");
}

TEST(OracleCached, WhatIsRefused) {
  const auto q = normal_tensor<float>({2, 1, 2, 4}, 1);
  const auto k = normal_tensor<float>({2, 1, 9, 4}, 2);
  const std::int64_t numbers[] = {5, 3, 1};
  Oracle oracle;
  Status status = oracle.prepare_cached(q.view(), k.view(), k.view(), {}, {numbers, 0});
  EXPECT_EQ(status.message(), "held_from: 3 numbers for a batch of 2");
  status = oracle.prepare_cached(q.view(), k.view(), k.view(), {}, {{}, -1});
  EXPECT_EQ(status.message(), "keep_first: -1 is below 0");
  ConstTensor wrong = k.view();
  wrong.dtype = DType::i64;
  status = oracle.prepare_cached(q.view(), k.view(), wrong, {});
  EXPECT_EQ(status.message(), "v: dtype i64 is none of f64, f32, f16 and bf16");
  OracleRow row;
  EXPECT_FALSE(oracle.row(0, 0, 0, row).ok());
}

}  // namespace
}  // namespace regard::test

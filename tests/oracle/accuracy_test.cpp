// Sums that lose everything in plain f64 and must lose nothing here.
#include <gtest/gtest.h>

#include <cmath>

#include "oracle/rows.h"
#include "support/test_tensor.h"

namespace regard::test {
namespace {

template <class T>
TestTensor<T> rows_of(std::int64_t rows, const std::vector<T>& values) {
  const auto cols = std::int64_t(values.size()) / rows;
  TestTensor<T> tensor({1, 1, rows, cols});
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < cols; ++c) tensor.at(0, 0, r, c) = values[r * cols + c];
  return tensor;
}

/// LSE of a row with one key is that key's score.
template <class T>
double lone_score(const std::vector<T>& q, const std::vector<T>& k) {
  Options options;
  options.scale = 1;
  const auto one = rows_of<T>(1, {1});
  return oracle_row(rows_of<T>(1, q).view(), rows_of<T>(1, k).view(), one.view(), options).lse;
}

TEST(OracleAccuracy, DotProductsOfF32CancelExactly) {
  EXPECT_EQ(lone_score<float>({0x1p60F, 1, -0x1p60F}, {1, 1, 1}), 1);
  EXPECT_EQ(lone_score<float>({1 + 0x1p-20F, -1}, {1 + 0x1p-20F, 1 + 0x1p-19F}), 0x1p-40);
  // The two large terms meet in one of the independent sums, and in two of them.
  std::vector<float> q(17, 0.0F), k(17, 1.0F);
  q[0] = 0x1p70F;
  q[5] = 3;
  q[8] = -0x1p70F;
  EXPECT_EQ(lone_score(q, k), 3);
  std::swap(q[8], q[9]);
  EXPECT_EQ(lone_score(q, k), 3);
}

TEST(OracleAccuracy, DotProductsOfF64KeepTheErrorsOfTheirProducts) {
  EXPECT_EQ(lone_score<double>({1 + 0x1p-30, -1}, {1 + 0x1p-30, 1 + 0x1p-29}), 0x1p-60);
  EXPECT_EQ(lone_score<double>({1e200, 1, -1e200}, {1, 0.5, 1}), 0.5);
}

TEST(OracleAccuracy, SmallWeightsAddUp) {
  // One key of score 0 and 4096 of weight 2^-54: in plain f64 each of them is lost.
  const std::int64_t keys = 4097;
  const auto q = rows_of<double>(1, {1});
  TestTensor<double> k({1, 1, keys, 1}), v({1, 1, keys, 1});
  for (std::int64_t j = 0; j < keys; ++j) {
    k.at(0, 0, j, 0) = j == 0 ? 0 : -54 * std::log(2.0);
    v.at(0, 0, j, 0) = j == 0 ? 0 : 1;
  }
  const OracleRow row = oracle_row(q.view(), k.view(), v.view(), {});
  EXPECT_NEAR(row.lse, 0x1p-42, 0x1p-53);
  EXPECT_NEAR(row.out[0], 0x1p-42 / (1 + 0x1p-42), 0x1p-89);
}

TEST(OracleAccuracy, ValuesCancelExactly) {
  Options options;
  options.scale = 0;
  const auto q = rows_of<double>(1, {1}), k = rows_of<double>(4, {1, 1, 1, 1});
  const auto v = rows_of<double>(4, {0x1p80, 1, -0x1p80, 2});
  EXPECT_EQ(oracle_row(q.view(), k.view(), v.view(), options).out[0], 0.75);
}

TEST(OracleAccuracy, HugeLogitsKeepTheirDifferences) {
  // Scores 2^60 + 1 and 2^60, whose difference f64 cannot hold in a score.
  Options options;
  options.scale = 1;
  const auto q = rows_of<double>(1, {0x1p60, 1});
  const auto k = rows_of<double>(2, {1, 1, 1, 0}), v = rows_of<double>(2, {1, 0});
  const OracleRow row = oracle_row(q.view(), k.view(), v.view(), options);
  EXPECT_NEAR(row.out[0], 1 / (1 + std::exp(-1.0)), 1e-15);
}

TEST(OracleAccuracy, ScaleKeepsTheErrorOfItsProduct) {
  // Scores (2^53 + 2) / 3 and 2^53 / 3, in doubles that lie 1/2 apart.
  Options options;
  options.scale = 1.0 / 3;
  const auto q = rows_of<double>(1, {0x1p53, 2});
  const auto k = rows_of<double>(2, {1, 1, 1, 0}), v = rows_of<double>(2, {1, 0});
  const OracleRow row = oracle_row(q.view(), k.view(), v.view(), options);
  EXPECT_NEAR(row.out[0], 1 / (1 + std::exp(-2.0 / 3)), 1e-15);
}

}  // namespace
}  // namespace regard::test

// Empty rows, poison where a row does not look and where it does, and memory that no row may read.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "oracle/rows.h"
#include "support/guarded.h"
#include "support/inputs.h"

namespace regard::test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Options causal(Causal alignment) {
  Options options;
  options.causal = alignment;
  return options;
}

template <class Row>
bool all(const Row& values, bool (*holds)(double)) {
  return std::all_of(values.begin(), values.end(), holds);
}
bool is_zero(double x) {
  return x == 0;
}
bool is_spoiled(double x) {
  return !std::isfinite(x);
}

TEST(OracleHidden, EmptyRowsGiveZero) {
  const auto in = random_inputs<double>({1, 1, 1, 5, 2, 4, 3}, 1);
  for (std::int64_t i = 0; i < 5; ++i) {
    const OracleRow row =
        oracle_row(in.q.view(), in.k.view(), in.v.view(), causal(Causal::bottom_right), 0, 0, i);
    EXPECT_EQ(row.visible, std::max<std::int64_t>(0, i - 2));
    if (row.visible > 0) continue;
    EXPECT_TRUE(all(row.out, is_zero));
    EXPECT_TRUE(all(row.weights, is_zero));
    EXPECT_TRUE(all(row.out_magnitude, is_zero));
    EXPECT_EQ(row.lse, -kInfinity);
    EXPECT_EQ(row.spread, 0);
    EXPECT_EQ(row.entropy, 0);
  }
}

TEST(OracleHidden, EmptyRowsForgetThePreviousRow) {
  const auto in = random_inputs<double>({1, 1, 1, 3, 2, 4, 3}, 1);
  Oracle oracle;
  ASSERT_TRUE(
      oracle.prepare(in.q.view(), in.k.view(), in.v.view(), causal(Causal::bottom_right)).ok());
  OracleRow row;
  ASSERT_TRUE(oracle.row(0, 0, 2, row).ok());
  EXPECT_GT(row.lse, -kInfinity);
  ASSERT_TRUE(oracle.row(0, 0, 0, row).ok());
  EXPECT_EQ(row.visible, 0);
  EXPECT_EQ(row.lse, -kInfinity);
  EXPECT_TRUE(all(row.out, is_zero));
  EXPECT_TRUE(all(row.weights, is_zero));
}

TEST(OracleHidden, PoisonInHiddenKeysChangesNothing) {
  const auto clean = random_inputs<double>({1, 1, 1, 4, 7, 5, 3}, 2);
  for (const double poison : {kNaN, kInfinity, -kInfinity}) {
    auto dirty = clean;
    for (std::int64_t j = 2; j < 7; ++j) {
      for (std::int64_t d = 0; d < 5; ++d) dirty.k.at(0, 0, j, d) = poison;
      for (std::int64_t d = 0; d < 3; ++d) dirty.v.at(0, 0, j, d) = poison;
    }
    for (std::int64_t i = 0; i < 4; ++i) {
      const Options options = causal(Causal::top_left);
      const auto a = oracle_row(clean.q.view(), clean.k.view(), clean.v.view(), options, 0, 0, i);
      const auto b = oracle_row(dirty.q.view(), dirty.k.view(), dirty.v.view(), options, 0, 0, i);
      if (i < 2) {
        EXPECT_EQ(a.out, b.out);
        EXPECT_EQ(a.weights, b.weights);
        EXPECT_EQ(a.lse, b.lse);
      } else {
        EXPECT_TRUE(all(b.out, is_spoiled));
        EXPECT_TRUE(is_spoiled(b.lse));
      }
    }
  }
}

TEST(OracleHidden, NonFiniteScoresSpoilTheRow) {
  const auto clean = random_inputs<double>({1, 1, 1, 2, 3, 4, 2}, 3);
  for (const double poison : {kNaN, kInfinity, -kInfinity}) {
    for (const bool in_key : {false, true}) {
      auto dirty = clean;
      (in_key ? dirty.k.at(0, 0, 1, 2) : dirty.q.at(0, 0, 0, 2)) = poison;
      const auto row = oracle_row(dirty.q.view(), dirty.k.view(), dirty.v.view(), {});
      EXPECT_TRUE(all(row.out, is_spoiled));
      EXPECT_TRUE(all(row.weights, is_spoiled));
      EXPECT_TRUE(is_spoiled(row.lse));
      const auto other = oracle_row(dirty.q.view(), dirty.k.view(), dirty.v.view(), {}, 0, 0, 1);
      EXPECT_EQ(all(other.out, is_spoiled), in_key);
    }
  }
}

TEST(OracleHidden, NonFiniteValuesSpoilTheirColumnEvenAtWeightZero) {
  auto in = random_inputs<double>({1, 1, 1, 1, 3, 1, 2}, 4);
  in.q.at(0, 0, 0, 0) = 1;
  in.k.at(0, 0, 0, 0) = -2000;  // exp(-2000) is 0
  in.k.at(0, 0, 1, 0) = 0;
  in.k.at(0, 0, 2, 0) = 0;
  for (const std::int64_t key : {0, 1}) {
    for (const double poison : {kNaN, kInfinity, -kInfinity}) {
      auto dirty = in;
      dirty.v.at(0, 0, key, 1) = poison;
      const auto row = oracle_row(dirty.q.view(), dirty.k.view(), dirty.v.view(), {});
      EXPECT_TRUE(std::isfinite(row.out[0]));
      EXPECT_TRUE(is_spoiled(row.out[1]));
      EXPECT_TRUE(std::isfinite(row.lse));
    }
  }
}

/// Keys 0..2 are readable; the next page is not, though K and V claim 1000 keys.
template <class T>
void expect_unread() {
  constexpr std::int64_t kSeen = 3, kClaimed = 1000, kD = 5;
  using Array = GuardedArray<T>;
  Array k(kSeen * kD, Array::Against::back), v(kSeen * kD, Array::Against::back);
  for (std::int64_t n = 0; n < kSeen * kD; ++n) k.data()[n] = v.data()[n] = T(n % 7) / T(8);
  const auto q = normal_tensor<T>({1, 1, kSeen, kD}, 5);
  const Shape shape{1, 1, kClaimed, kD};
  for (std::int64_t i = 0; i < kSeen; ++i) {
    const auto row =
        oracle_row(q.view(), view(static_cast<const T*>(k.data()), shape),
                   view(static_cast<const T*>(v.data()), shape), causal(Causal::top_left), 0, 0, i);
    EXPECT_EQ(row.visible, i + 1);
    EXPECT_TRUE(std::isfinite(row.lse));
  }
}

TEST(OracleHidden, KeysThatNoRowSeesAreNotRead) {
  expect_unread<float>();
  expect_unread<double>();
}

}  // namespace
}  // namespace regard::test

// Where floating point is hard: large and growing scores, huge and tiny values, and accuracy
// against a plain implementation in the same precision.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/engine.h"
#include "support/plain.h"

namespace regard::test {
namespace {

template <class T>
class Numerics : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Numerics, Types);

TYPED_TEST(Numerics, LargeScores) {
  for (const double deviation : {4.0, 15.0, 60.0}) {
    SCOPED_TRACE(deviation);
    auto in = random_inputs<TypeParam>({1, 2, 1, 70, 420, 64, 16}, 1);
    in.q = normal_tensor<TypeParam>(in.q.shape(), 2, Layout::bhsd, deviation);
    for (const Causal causal : {Causal::none, Causal::bottom_right}) {
      Options options;
      options.causal = causal;
      EXPECT_TRUE(matches_oracle(in, options, run_forward(in, options)));
    }
  }
}

/// Scores that rise by `step` (in base-2 exponents) from key to key, for every row.
template <class T>
Inputs<T> rising_scores(std::int64_t sq, std::int64_t skv, double step) {
  auto in = random_inputs<T>({1, 1, 1, sq, skv, 1, 8}, 3);
  for (std::int64_t i = 0; i < sq; ++i) in.q.at(0, 0, i, 0) = T(step / std::log2(std::exp(1.0)));
  for (std::int64_t j = 0; j < skv; ++j) in.k.at(0, 0, j, 0) = T(j);
  return in;
}

// Rises and falls that make the reference stale within a tile, a block and over many blocks.
TYPED_TEST(Numerics, RisingAndFallingScores) {
  for (const double step : {1e-3, 0.05, 0.2, 1.0, 4.0, 100.0, -0.05, -1.0, -100.0}) {
    SCOPED_TRACE(step);
    const auto in = rising_scores<TypeParam>(50, 1000, step);
    for (const Causal causal : {Causal::none, Causal::bottom_right}) {
      Options options;
      options.causal = causal;
      EXPECT_TRUE(matches_oracle(in, options, run_forward(in, options)));
    }
  }
}

// One row raises while its neighbours do not, from the first block to the last.
TYPED_TEST(Numerics, OneOutlierKey) {
  for (const std::int64_t key : {0, 5, 100, 191, 192, 500, 999}) {
    SCOPED_TRACE(key);
    auto in = random_inputs<TypeParam>({1, 1, 1, 60, 1000, 16, 8}, 4);
    for (std::int64_t d = 0; d < 16; ++d) {
      in.k.at(0, 0, key, d) = in.q.at(0, 0, 31, d) * TypeParam(40);
    }
    EXPECT_TRUE(matches_oracle(in, {}, run_forward(in, {})));
  }
}

// The first key has by far the lowest score: the reference it gives is far below the rest.
TYPED_TEST(Numerics, FirstTileFarBelowTheRest) {
  auto in = random_inputs<TypeParam>({1, 1, 1, 60, 500, 1, 8}, 5);
  for (std::int64_t i = 0; i < 60; ++i) in.q.at(0, 0, i, 0) = TypeParam(1 + i);
  for (std::int64_t j = 0; j < 500; ++j) in.k.at(0, 0, j, 0) = TypeParam(j < 8 ? -2000 : j % 7);
  EXPECT_TRUE(matches_oracle(in, {}, run_forward(in, {})));
}

// docs/numerics.md: out stays finite for |v| below this limit, even while the reference is stale.
TYPED_TEST(Numerics, LargestValuesStayFinite) {
  const TypeParam limit = sizeof(TypeParam) == 4 ? TypeParam(0x1p94f) : TypeParam(0x1p990);
  for (const double step : {0.0, 0.15, 0.165, 1.0}) {
    SCOPED_TRACE(step);
    auto in = rising_scores<TypeParam>(20, 1000, step);
    for_each_index(in.v.shape(),
                   [&](auto b, auto h, auto s, auto d) { in.v.at(b, h, s, d) = limit; });
    const auto result = run_forward(in, {});
    for_each_index(result.out.shape(), [&](auto b, auto h, auto s, auto d) {
      EXPECT_NEAR(double(result.out.at(b, h, s, d) / limit), 1, 1e-4);
    });
  }
}

// Scores of 1e19, whose last digits are worth thousands: the oracle keeps them, and one key wins.
TYPED_TEST(Numerics, ScoresFarBeyondTheirDigits) {
  auto in = random_inputs<TypeParam>({1, 1, 1, 40, 64, 16, 8}, 10);
  in.q = normal_tensor<TypeParam>(in.q.shape(), 11, Layout::bhsd, 1e10);
  in.k = normal_tensor<TypeParam>(in.k.shape(), 12, Layout::bhsd, 1e10);
  EXPECT_TRUE(matches_oracle(in, {}, run_forward(in, {})));
}

// Equal terms round in one direction: q, k and v of one value each, as a user's first try often is.
TYPED_TEST(Numerics, ConstantVectors) {
  for (const std::int64_t d : {16, 64, 128, 256, 576}) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      SCOPED_TRACE(testing::Message() << "D=" << d << " seed=" << seed);
      const auto constants = uniform_tensor<TypeParam>({1, 1, 1, 3}, seed, 0.1, 2);
      auto in = random_inputs<TypeParam>({1, 1, 1, 1, 1 + std::int64_t(seed) * 9, d, 1}, 9);
      const auto fill = [](TestTensor<TypeParam>& tensor, TypeParam value) {
        for_each_index(tensor.shape(),
                       [&](auto b, auto h, auto s, auto c) { tensor.at(b, h, s, c) = value; });
      };
      fill(in.q, constants.at(0, 0, 0, 0));
      fill(in.k, constants.at(0, 0, 0, 1));
      fill(in.v, constants.at(0, 0, 0, 2));
      EXPECT_TRUE(matches_oracle(in, {}, run_forward(in, {})));
    }
  }
}

TYPED_TEST(Numerics, DenormalAndTinyValues) {
  auto in = random_inputs<TypeParam>({1, 1, 1, 20, 300, 8, 8}, 6);
  const double tiny = sizeof(TypeParam) == 4 ? 0x1p-128 : 0x1p-1024;
  for_each_index(in.v.shape(), [&](auto b, auto h, auto s, auto d) {
    in.v.at(b, h, s, d) = TypeParam(double(in.v.at(b, h, s, d)) * tiny);
  });
  EXPECT_TRUE(matches_oracle(in, {}, run_forward(in, {})));
}

// A row that sees one key returns that value exactly: 2^0 is 1.
TYPED_TEST(Numerics, OneKeyGivesItsValueExactly) {
  const auto in = random_inputs<TypeParam>({1, 2, 1, 30, 30, 40, 24}, 7);
  Options options;
  options.causal = Causal::top_left;
  const auto result = run_forward(in, options);
  for (std::int64_t h = 0; h < 2; ++h) {
    for (std::int64_t d = 0; d < 24; ++d) {
      EXPECT_EQ(result.out.at(0, h, 0, d), in.v.at(0, h, 0, d));
    }
  }
}

/// Root mean square distance from the plain computation in long double.
template <class T>
double rms_distance(const TestTensor<T>& actual, const TestTensor<double>& exact) {
  double sum = 0;
  for_each_index(exact.shape(), [&](auto b, auto h, auto s, auto d) {
    const double error = double(actual.at(b, h, s, d)) - exact.at(b, h, s, d);
    sum += error * error;
  });
  return std::sqrt(sum / double(element_count(exact.shape())));
}

// Only f32: f64's plain result has no wider type with enough digits to spare on every platform.
TEST(Accuracy, RmsErrorIsAtMostTwiceAPlainImplementation) {
  for (const ProblemShape& shape :
       {ProblemShape{1, 2, 1, 128, 128, 64, 64}, ProblemShape{1, 1, 1, 64, 1024, 128, 128}}) {
    for (const Causal causal : {Causal::none, Causal::bottom_right}) {
      SCOPED_TRACE(testing::Message() << shape << " causal=" << int(causal));
      const auto in = random_inputs<float>(shape, 8);
      Options options;
      options.causal = causal;
      const auto exact = plain_attention<double>(in.copy<double>(), options);
      const double plain = rms_distance(plain_attention<float>(in, options).out, exact.out);
      const double ours = rms_distance(run_forward(in, options).out, exact.out);
      RecordProperty("rms_ratio", std::to_string(ours / plain));
      EXPECT_LE(ours, 2 * plain);
    }
  }
}

}  // namespace
}  // namespace regard::test

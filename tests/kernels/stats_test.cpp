// Weights of every stage, entropy, top keys and key mass, against the oracle and one another.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "kernels/full_call.h"
#include "regard/oracle.h"

namespace regard::test {
namespace {

template <class T>
class Stats : public testing::Test {};
using Types = testing::Types<float, double, F16, BF16>;
TYPED_TEST_SUITE(Stats, Types);

/// Calls f(row, b, h, i) with the oracle's answer for every row of the call.
template <class T, class F>
void for_each_row(const Inputs<T>& in, const Options& options, const ErrorBound& bound,
                  const F& f) {
  Oracle oracle;
  const Status status = oracle.prepare(in.q.view(), in.k.view(), in.v.view(), options);
  ASSERT_TRUE(status.ok()) << status.message();
  OracleRow row;
  const Shape& q = in.q.shape();
  for_each_index({q[0], q[1], q[2], 1}, [&](auto b, auto h, auto i, auto) {
    ASSERT_TRUE(oracle.row(b, h, i, row, bound.score).ok());
    f(row, b, h, i);
  });
}

/// Of what is stored in the compute type.
template <class T>
ErrorBound stats_bound(const Inputs<T>& in, const Options& options) {
  constexpr DType compute = DTypeOf<ComputeType<T>>::value;
  return error_bound(DTypeOf<T>::value, compute, in.q.shape()[3], options);
}

/// Weights and entropy of every row within their bounds, hidden keys exactly 0, and masses within
/// the sum of what their weights may be off by.
template <class T>
void expect_oracle_stats(const Inputs<T>& in, const Options& options, const FullResult<T>& r) {
  const ErrorBound bound = stats_bound(in, options);
  const Shape& shape = r.weights.shape();
  const std::int64_t rows = shape[2], keys = shape[3];
  TestTensor<double> mass({shape[0], shape[1], 1, keys}), allowed(mass.shape());
  for (auto* sums : {&mass, &allowed})
    for_each_index(mass.shape(), [&](auto b, auto h, auto, auto j) { sums->at(b, h, 0, j) = 0; });
  for_each_row(in, options, bound, [&](const OracleRow& row, auto b, auto h, auto i) {
    EXPECT_LE(std::fabs(double(r.entropy.at(b, h, i, 0)) - row.entropy), entropy_bound(bound, row))
        << i;
    for (std::int64_t j = 0; j < keys; ++j) {
      const double p = row.weights[std::size_t(j)], got = double(r.weights.at(b, h, i, j));
      if (p == 0 && row.scores[std::size_t(j)] == -HUGE_VAL) {
        EXPECT_EQ(got, 0);
        continue;
      }
      EXPECT_LE(std::fabs(got - p), weight_bound(bound, row, j)) << i << ' ' << j;
      mass.at(b, h, 0, j) += p;
      allowed.at(b, h, 0, j) += weight_bound(bound, row, j);
    }
  });
  // Summed in f64, rounded once; the test's own sum is in f64 too.
  for_each_index(mass.shape(), [&](auto b, auto h, auto, auto j) {
    const double want = mass.at(b, h, 0, j), off = allowed.at(b, h, 0, j);
    EXPECT_NEAR(double(r.key_mass.at(b, h, 0, j)), want,
                off + bound.unit * (want + off) + double(rows) * 0x1p-52 * want)
        << j;
  });
}

TYPED_TEST(Stats, MatchTheOracle) {
  const ProblemShape shape{2, 1, 2, 27, 203, 12, 3};
  const auto in = random_inputs<TypeParam>(shape, 1);
  const FullOptions<TypeParam> full(shape, 2);
  for (const unsigned kinds : kKindSets) {
    SCOPED_TRACE(testing::Message() << "kinds " << kinds);
    const LaidOut<TypeParam> laid(full, kinds);
    expect_oracle_stats(in, laid.options, run_full(in, laid.options));
  }
}

// References far below the largest score, and rows of nearly one key.
TYPED_TEST(Stats, OfLargeAndGrowingScores) {
  const ProblemShape shape{1, 1, 1, 20, 600, 8, 3};
  auto in = random_inputs<TypeParam>(shape, 3);
  for (std::int64_t j = 0; j < shape.skv; ++j)
    in.k.at(0, 0, j, 7) = converted<TypeParam>(double(j) / 50);
  for (std::int64_t i = 0; i < shape.sq; ++i)
    in.q.at(0, 0, i, 7) = converted<TypeParam>(double(i * i) / 10 - 2);
  const FullOptions<TypeParam> full(shape, 4);
  for (const unsigned kinds : {0U, kMask, kBias | kAlibi}) {
    SCOPED_TRACE(testing::Message() << "kinds " << kinds);
    const LaidOut<TypeParam> laid(full, kinds);
    expect_oracle_stats(in, laid.options, run_full(in, laid.options));
  }
}

TYPED_TEST(Stats, ScoresOfEveryStage) {
  const ProblemShape shape{2, 1, 2, 27, 203, 12, 3};
  const auto in = random_inputs<TypeParam>(shape, 5);
  const FullOptions<TypeParam> full(shape, 6);
  const std::int64_t rows[] = {26, 2, 2, 0, 11};
  for (const unsigned kinds : kKindSets) {
    const LaidOut<TypeParam> laid(full, kinds);
    for (const Stage stage : {Stage::scaled, Stage::capped, Stage::biased}) {
      SCOPED_TRACE(testing::Message() << "kinds " << kinds << " stage " << int(stage));
      Options options = laid.options;
      options.weights_stage = stage;
      const auto result = run_full(in, options);
      const ErrorBound bound = stats_bound(in, options);
      for_each_row(in, options, bound, [&](const OracleRow& row, auto b, auto h, auto i) {
        for (std::int64_t j = 0; j < shape.skv; ++j) {
          const double want = row.scores[std::size_t(j)],
                       got = double(result.weights.at(b, h, i, j));
          if (want == -HUGE_VAL) {
            EXPECT_EQ(got, want);
          } else {
            EXPECT_LE(std::fabs(got - want), score_bound(bound, row, j)) << i << ' ' << j;
          }
        }
      });
      options.rows = rows;
      const auto chosen = run_full(in, options);
      for_each_index(chosen.weights.shape(), [&](auto b, auto h, auto t, auto) {
        EXPECT_TRUE(same_row(chosen.weights, {b, h, t}, result.weights, {b, h, rows[t]}));
      });
    }
  }
}

// The stage of the weights changes nothing else.
TYPED_TEST(Stats, EveryOutputBesideEveryStage) {
  const ProblemShape shape{1, 1, 2, 27, 203, 12, 3};
  const auto in = random_inputs<TypeParam>(shape, 7);
  const FullOptions<TypeParam> full(shape, 8);
  const LaidOut<TypeParam> laid(full, kEvery);
  const auto softmax = run_full(in, laid.options);
  Options options = laid.options;
  for (const Stage stage : {Stage::scaled, Stage::capped, Stage::biased}) {
    options.weights_stage = stage;
    auto result = run_full(in, options);
    result.weights = softmax.weights;
    EXPECT_TRUE(same_bits(result, softmax)) << int(stage);
  }
}

/// The list of the largest weights, from the weights.
template <class T>
void expect_top(const FullResult<T>& r, const Row& at) {
  const std::int64_t b = at.b, h = at.h, i = at.i;
  std::vector<std::int64_t> order;
  for (std::int64_t j = 0; j < r.weights.shape()[3]; ++j)
    if (r.weights.at(b, h, i, j) > 0) order.push_back(j);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t x, std::int64_t y) {
    return r.weights.at(b, h, i, x) > r.weights.at(b, h, i, y);
  });
  for (std::int64_t n = 0; n < r.top_keys.shape()[3]; ++n) {
    const bool has = n < std::int64_t(order.size());
    const std::int64_t key = has ? order[std::size_t(n)] : -1;
    ASSERT_EQ(r.top_keys.at(b, h, i, n), key) << "entry " << n << " of row " << i;
    ASSERT_EQ(r.top_weights.at(b, h, i, n), has ? r.weights.at(b, h, i, key) : 0);
  }
}

TYPED_TEST(Stats, TopKeysAreTheLargestWeights) {
  const ProblemShape shape{2, 1, 2, 27, 203, 12, 3};
  const auto in = random_inputs<TypeParam>(shape, 9);
  const FullOptions<TypeParam> full(shape, 10);
  for (const unsigned kinds : kKindSets) {
    SCOPED_TRACE(testing::Message() << "kinds " << kinds);
    const LaidOut<TypeParam> laid(full, kinds);
    for (const std::int64_t top : {1, 5, 210}) {
      const auto result = run_full(in, laid.options, one_thread(), Layout::bhsd, top);
      for_each_index(result.lse.shape(), [&](auto b, auto h, auto i, auto) {
        expect_top(result, {b, h, i});
      });
    }
  }
}

// Of equal weights the lowest key comes first, also where they lie blocks apart.
TYPED_TEST(Stats, TiesGoToTheLowestKey) {
  const ProblemShape shape{1, 1, 1, 9, 500, 8, 3};
  auto in = random_inputs<TypeParam>(shape, 11);
  for_each_index(in.k.shape(), [&](auto b, auto h, auto s, auto d) {
    in.k.at(b, h, s, d) = in.k.at(b, h, s % 100, d);  // each key five times
  });
  const auto result = run_full(in, {}, one_thread(), Layout::bhsd, 10);
  for (std::int64_t i = 0; i < shape.sq; ++i) {
    expect_top(result, {0, 0, i});
    for (std::int64_t n = 0; n < 10; ++n) {
      EXPECT_EQ(result.top_keys.at(0, 0, i, n) / 100, n % 5) << i;
      EXPECT_EQ(result.top_weights.at(0, 0, i, n), result.top_weights.at(0, 0, i, n / 5 * 5));
    }
  }
}

// Whatever else is asked for, an output has the bits it has among all of them; out alone those it
// has alone.
TYPED_TEST(Stats, AnySubsetOfOutputs) {
  const ProblemShape shape{1, 1, 2, 20, 203, 6, 3};
  const auto in = random_inputs<TypeParam>(shape, 12);
  const FullOptions<TypeParam> full(shape, 13);
  for (const unsigned kinds : {kWindow, kEvery}) {
    const LaidOut<TypeParam> laid(full, kinds);
    const auto all = run_full(in, laid.options);
    for (unsigned subset = 0; subset < 128; ++subset) {
      auto some = all;
      FullResult<TypeParam> fresh(in, shape.sq, 3, Layout::bhsd);
      if (subset & 1) some.out = fresh.out;
      if (subset & 2) some.lse = fresh.lse;
      if (subset & 4) some.entropy = fresh.entropy;
      if (subset & 8) some.top_weights = fresh.top_weights;
      if (subset & 16) some.top_keys = fresh.top_keys;
      if (subset & 32) some.key_mass = fresh.key_mass;
      if (subset & 64) some.weights = fresh.weights;
      Outputs wanted = some.outputs();
      if (!(subset & 1)) wanted.out = {};
      if (!(subset & 2)) wanted.lse = {};
      if (!(subset & 4)) wanted.entropy = {};
      if (!(subset & 8)) wanted.top_weights = {};
      if (!(subset & 16)) wanted.top_keys = {};
      if (!(subset & 32)) wanted.key_mass = {};
      if (!(subset & 64)) wanted.weights = {};
      const Status status = forward(one_thread(), in.q.view(), in.k.view(), in.v.view(), wanted,
                                    on_test_path<TypeParam>(laid.options));
      EXPECT_TRUE(status.ok()) << status.message();
      if (subset == 1) std::swap(some.out, some.alone = all.out);
      EXPECT_TRUE(same_bits(some, all)) << "subset " << subset << " kinds " << kinds;
    }
  }
}

// All of 2048 x 2048 weights, summed one by one; a sanitizer finds nothing in them that it does not
// find in 512 x 512.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::int64_t kLong = 512;
#else
constexpr std::int64_t kLong = 2048;
#endif

template <class T>
void expect_masses_of_long_sequence() {
  const auto in = random_inputs<T>({1, 1, 1, kLong, kLong, 4, 1}, 14);
  const auto slopes = uniform_tensor<ComputeType<T>>({1, 1, 1, 1}, 1, 0.01, 0.02);
  const double sink = 2;
  Options options;
  options.causal = Causal::top_left;
  for (const bool with_options : {false, true}) {
    if (with_options) options.alibi_slopes = slopes.view();
    if (with_options) options.sinks = view_per_head(&sink, 1);
    expect_oracle_stats(in, options, run_full(in, options));
  }
}

TEST(KeyMass, OfALongSequenceF32) {
  expect_masses_of_long_sequence<float>();
}
TEST(KeyMass, OfALongSequenceF64) {
  expect_masses_of_long_sequence<double>();
}

}  // namespace
}  // namespace regard::test

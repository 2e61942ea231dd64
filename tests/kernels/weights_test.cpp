// Weights on request: all rows or chosen ones, against the oracle, with the bits of out untouched.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/engine.h"
#include "regard/oracle.h"

namespace regard::test {
namespace {

template <class T>
class Weights : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Weights, Types);

template <class T>
TestTensor<T> run_weights(const Inputs<T>& in, const Options& options, Outputs outputs = {},
                          Layout layout = Layout::bhsd, int threads = 1) {
  const Shape& q = in.q.shape();
  const auto rows = options.rows.empty() ? q[2] : std::int64_t(options.rows.size());
  TestTensor<T> weights({q[0], q[1], rows, in.k.shape()[2]}, layout);
  outputs.weights = weights.tensor();
  const Status status =
      forward(Context(threads), in.q.view(), in.k.view(), in.v.view(), outputs, options);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(weights.canaries_intact());
  EXPECT_EQ(weights.unwritten(), 0);
  return weights;
}

/// Each weight obeys its bound.
template <class T>
void expect_oracle_weights(const Inputs<T>& in, const Options& options,
                           const TestTensor<T>& weights) {
  Oracle oracle;
  ASSERT_TRUE(oracle.prepare(in.q.view(), in.k.view(), in.v.view(), options).ok());
  const Shape& shape = weights.shape();
  constexpr DType dtype = DTypeOf<T>::value;
  const ErrorBound bound = error_bound(dtype, dtype, in.q.shape()[3], options);
  OracleRow row;
  for (std::int64_t b = 0; b < shape[0]; ++b) {
    for (std::int64_t h = 0; h < shape[1]; ++h) {
      for (std::int64_t r = 0; r < shape[2]; ++r) {
        const std::int64_t i = options.rows.empty() ? r : options.rows[std::size_t(r)];
        ASSERT_TRUE(oracle.row(b, h, i, row, bound.score).ok());
        for (std::int64_t j = 0; j < shape[3]; ++j) {
          const double expected = row.weights[std::size_t(j)];
          EXPECT_NEAR(double(weights.at(b, h, r, j)), expected, weight_bound(bound, row, j))
              << i << ' ' << j;
        }
      }
    }
  }
}

TYPED_TEST(Weights, EveryShape) {
  std::uint64_t seed = 1;
  for (const ProblemShape& shape : kShapes) {
    for (const Causal causal : {Causal::none, Causal::bottom_right}) {
      SCOPED_TRACE(testing::Message() << shape << " causal=" << int(causal));
      const auto in = random_inputs<TypeParam>(shape, ++seed);
      Options options;
      options.causal = causal;
      expect_oracle_weights(in, options, run_weights(in, options));
    }
  }
}

TYPED_TEST(Weights, ChosenRowsInTheirOrder) {
  const auto in = random_inputs<TypeParam>({2, 2, 3, 300, 260, 16, 8}, 2);
  const std::vector<std::int64_t> rows = {299, 0, 7, 7, 150, 41};
  Options options;
  options.causal = Causal::bottom_right;
  const auto all = run_weights(in, options);
  options.rows = rows;
  for (const Layout layout : kOutputLayouts) {
    const auto chosen = run_weights(in, options, {}, layout, 2);
    for_each_index(chosen.shape(), [&](auto b, auto h, auto r, auto j) {
      EXPECT_EQ(chosen.at(b, h, r, j), all.at(b, h, rows[std::size_t(r)], j));
    });
  }
}

TYPED_TEST(Weights, LeaveOutAndLseAlone) {
  const auto in = random_inputs<TypeParam>({1, 2, 2, 120, 230, 24, 24}, 3);
  const std::vector<std::int64_t> rows = {3, 119};
  Options options;
  options.causal = Causal::top_left;
  const auto expected = run_forward(in, options);
  for (const bool choose : {false, true}) {
    options.rows = choose ? std::span<const std::int64_t>(rows) : std::span<const std::int64_t>();
    Result<TypeParam> result{TestTensor<TypeParam>(expected.out.shape()),
                             TestTensor<TypeParam>(expected.lse.shape())};
    run_weights(in, options,
                {.out = result.out.tensor(), .lse = result.lse.tensor(), .weights = {}});
    EXPECT_TRUE(result.out.same_bits(expected.out));
    EXPECT_TRUE(result.lse.same_bits(expected.lse));
  }
}

// Hidden keys weigh exactly 0, and a spoiled key shows in the rows that see it alone.
TYPED_TEST(Weights, HiddenKeysWeighNothing) {
  auto in = random_inputs<TypeParam>({1, 1, 1, 60, 60, 8, 8}, 4);
  in.k.at(0, 0, 30, 2) = std::numeric_limits<TypeParam>::quiet_NaN();
  Options options;
  options.causal = Causal::top_left;
  const auto weights = run_weights(in, options);
  for (std::int64_t i = 0; i < 60; ++i) {
    for (std::int64_t j = 0; j < 60; ++j) {
      const TypeParam p = weights.at(0, 0, i, j);
      if (j > i) {
        EXPECT_EQ(p, TypeParam(0));
      } else if (i >= 30) {
        EXPECT_TRUE(std::isnan(p));
      } else {
        EXPECT_GT(p, TypeParam(0));
      }
    }
  }
}

}  // namespace
}  // namespace regard::test

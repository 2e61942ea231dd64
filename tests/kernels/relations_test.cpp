// Relations that hold for attention whatever the numbers are.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/engine.h"

namespace regard::test {
namespace {

template <class T>
class Relations : public testing::Test {
 protected:
  static constexpr double kRoundoff = std::numeric_limits<T>::epsilon();

  static void expect_near(const TestTensor<T>& a, const TestTensor<T>& b, double allowed) {
    for_each_index(a.shape(), [&](auto x, auto h, auto s, auto d) {
      EXPECT_NEAR(double(a.at(x, h, s, d)), double(b.at(x, h, s, d)), allowed);
    });
  }
};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Relations, Types);

// Without an order of keys, their order does not matter.
TYPED_TEST(Relations, PermutingKeysChangesNothing) {
  const std::int64_t skv = 333;
  const auto in = random_inputs<TypeParam>({1, 2, 1, 40, skv, 16, 16}, 1);
  std::vector<std::int64_t> order(skv);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(1));
  auto permuted = in;
  for_each_index(in.k.shape(), [&](auto b, auto h, auto s, auto d) {
    permuted.k.at(b, h, s, d) = in.k.at(b, h, order[std::size_t(s)], d);
    permuted.v.at(b, h, s, d) = in.v.at(b, h, order[std::size_t(s)], d);
  });
  const auto a = run_forward(in, {});
  const auto b = run_forward(permuted, {});
  this->expect_near(a.out, b.out, 100 * this->kRoundoff);
  this->expect_near(a.lse, b.lse, 100 * this->kRoundoff);
}

// Adding the same amount to all scores of a row leaves out alone and moves lse by it: a last
// column that is constant in K adds q_last times that constant.
TYPED_TEST(Relations, ShiftingAllScoresMovesOnlyTheLse) {
  auto in = random_inputs<TypeParam>({1, 1, 1, 30, 210, 17, 8}, 2);
  Options options;
  options.scale = 1;
  for (std::int64_t i = 0; i < 30; ++i) in.q.at(0, 0, i, 16) = 0;
  for (std::int64_t j = 0; j < 210; ++j) in.k.at(0, 0, j, 16) = 1;
  const auto still = run_forward(in, options);
  for (std::int64_t i = 0; i < 30; ++i) in.q.at(0, 0, i, 16) = TypeParam(50 - 4 * i);
  const auto shifted = run_forward(in, options);
  this->expect_near(still.out, shifted.out, 2e3 * this->kRoundoff);
  for (std::int64_t i = 0; i < 30; ++i) {
    EXPECT_NEAR(double(shifted.lse.at(0, 0, i, 0)),
                double(still.lse.at(0, 0, i, 0)) + double(50 - 4 * i), 500 * this->kRoundoff);
  }
}

TYPED_TEST(Relations, OutIsLinearInV) {
  const auto in = random_inputs<TypeParam>({1, 1, 1, 30, 100, 16, 8}, 3);
  auto other = in;
  other.v = normal_tensor<TypeParam>(in.v.shape(), 77);
  auto sum = in;
  for_each_index(in.v.shape(), [&](auto b, auto h, auto s, auto d) {
    sum.v.at(b, h, s, d) = 3 * in.v.at(b, h, s, d) - 2 * other.v.at(b, h, s, d);
  });
  const auto a = run_forward(in, {});
  const auto b = run_forward(other, {});
  const auto c = run_forward(sum, {});
  for_each_index(a.out.shape(), [&](auto x, auto h, auto s, auto d) {
    EXPECT_NEAR(double(c.out.at(x, h, s, d)),
                3 * double(a.out.at(x, h, s, d)) - 2 * double(b.out.at(x, h, s, d)),
                200 * this->kRoundoff);
  });
}

// Two halves of the keys, weighed by their log-sum-exp, make the whole.
TYPED_TEST(Relations, TwoPartsMakeTheWhole) {
  const std::int64_t skv = 301, cut = 190;
  const auto in = random_inputs<TypeParam>({1, 1, 1, 30, skv, 16, 8}, 4);
  const auto part = [&](std::int64_t begin, std::int64_t end) {
    Inputs<TypeParam> keys{in.q, TestTensor<TypeParam>({1, 1, end - begin, 16}),
                           TestTensor<TypeParam>({1, 1, end - begin, 8})};
    for_each_index(keys.k.shape(), [&](auto b, auto h, auto s, auto d) {
      keys.k.at(b, h, s, d) = in.k.at(b, h, begin + s, d);
    });
    for_each_index(keys.v.shape(), [&](auto b, auto h, auto s, auto d) {
      keys.v.at(b, h, s, d) = in.v.at(b, h, begin + s, d);
    });
    return run_forward(keys, {});
  };
  const auto whole = run_forward(in, {});
  const auto first = part(0, cut);
  const auto second = part(cut, skv);
  for (std::int64_t i = 0; i < 30; ++i) {
    const double a = double(first.lse.at(0, 0, i, 0)), b = double(second.lse.at(0, 0, i, 0));
    const double share = 1 / (1 + std::exp(b - a));
    for (std::int64_t d = 0; d < 8; ++d) {
      EXPECT_NEAR(double(whole.out.at(0, 0, i, d)),
                  share * double(first.out.at(0, 0, i, d)) +
                      (1 - share) * double(second.out.at(0, 0, i, d)),
                  100 * this->kRoundoff);
    }
  }
}

// Equal keys share the weight equally: out is the mean of V, lse grows by ln of their number.
TYPED_TEST(Relations, EqualKeysAverage) {
  auto in = random_inputs<TypeParam>({1, 1, 1, 10, 200, 8, 8}, 5);
  for_each_index(in.k.shape(), [&](auto b, auto h, auto s, auto d) {
    in.k.at(b, h, s, d) = in.k.at(b, h, 0, d);
  });
  const auto result = run_forward(in, {});
  for (std::int64_t d = 0; d < 8; ++d) {
    double mean = 0;
    for (std::int64_t j = 0; j < 200; ++j) mean += double(in.v.at(0, 0, j, d)) / 200;
    for (std::int64_t i = 0; i < 10; ++i) {
      EXPECT_NEAR(double(result.out.at(0, 0, i, d)), mean, 20 * this->kRoundoff);
    }
  }
}

}  // namespace
}  // namespace regard::test

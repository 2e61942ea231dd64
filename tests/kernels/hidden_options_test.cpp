// What stands at hidden places never reaches a result, beside any option and in any output; what is
// not finite in a visible place spoils the rows that see it alone. Biases at the end of the range
// are numbers, and rows without keys are what the conventions say.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/seen.h"

namespace regard::test {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <class T>
class HiddenOptions : public testing::Test {};
using Types = testing::Types<float, double, F16, BF16>;
TYPED_TEST_SUITE(HiddenOptions, Types);

template <class T>
bool finite(T x) {
  return std::isfinite(converted<double>(x));
}

/// Row r of `result` is spoiled in everything that its scores make.
template <class T>
void expect_spoiled(const FullResult<T>& result, const TestTensor<float>& seen, const Row& r) {
  const auto [b, h, i] = r;
  for (std::int64_t d = 0; d < result.out.shape()[3]; ++d) {
    EXPECT_FALSE(finite(result.out.at(b, h, i, d)));
    EXPECT_FALSE(finite(result.alone.at(b, h, i, d)));
  }
  EXPECT_FALSE(finite(result.lse.at(b, h, i, 0)));
  EXPECT_TRUE(std::isnan(result.entropy.at(b, h, i, 0)));
  for (std::int64_t n = 0; n < result.top_keys.shape()[3]; ++n) {
    EXPECT_TRUE(std::isnan(result.top_weights.at(b, h, i, n)));
    EXPECT_EQ(result.top_keys.at(b, h, i, n), -1);
  }
  for (std::int64_t j = 0; j < seen.shape()[3]; ++j) {
    const auto p = result.weights.at(b, h, i, j);
    EXPECT_TRUE(seen.at(b, h, i, j) != 0 ? std::isnan(p) : p == 0) << j;
  }
}

/// Rows for which `spoils` holds are spoiled, and all others have the bits of `expected`; a key's
/// mass is spoiled where a spoiled row sees it.
template <class T, class F>
void expect_spoiled_rows(const FullResult<T>& result, const FullResult<T>& expected,
                         const TestTensor<float>& seen, const F& spoils) {
  const Shape& pairs = seen.shape();
  const std::int64_t keys = pairs[3];
  TestTensor<float> lost({pairs[0], pairs[1], 1, keys});
  for_each_index(lost.shape(), [&](auto b, auto h, auto, auto j) { lost.at(b, h, 0, j) = 0; });
  for_each_index({pairs[0], pairs[1], pairs[2], 1}, [&](auto b, auto h, auto i, auto) {
    SCOPED_TRACE(testing::Message() << "b=" << b << " h=" << h << " i=" << i);
    if (!spoils(Row{b, h, i})) {
      EXPECT_TRUE(same_row(result, {b, h, i}, expected, {b, h, i}));
      return;
    }
    expect_spoiled(result, seen, {b, h, i});
    for (std::int64_t j = 0; j < keys; ++j) lost.at(b, h, 0, j) += seen.at(b, h, i, j);
  });
  for_each_index(lost.shape(), [&](auto b, auto h, auto, auto j) {
    const auto mass = result.key_mass.at(b, h, 0, j);
    if (lost.at(b, h, 0, j) > 0) {
      EXPECT_TRUE(std::isnan(mass));
    } else {
      EXPECT_EQ(mass, expected.key_mass.at(b, h, 0, j));
    }
  });
}

constexpr ProblemShape kShape{1, 1, 2, 25, 230, 9, 6};
constexpr unsigned kHidingKinds[] = {
    kMask, kBias, kWindow, kRagged, kSoftcap | kAlibi | kWindow, kMask | kSinks, kEvery};

TYPED_TEST(HiddenOptions, PoisonInK) {
  const auto clean = random_inputs<TypeParam>(kShape, 1);
  FullOptions<TypeParam> full(kShape, 2);
  full.window = {20, 6};
  full.q_offset = {185};
  for (const unsigned kinds : kHidingKinds) {
    const LaidOut<TypeParam> laid(full, kinds);
    const auto expected = run_full(clean, laid.options);
    const auto seen = seen_pairs(clean, laid.options);
    for (const std::int64_t key : {0, 20, 100, 191, 192, 196, 205, 229}) {
      for (const double poison : {kNaN, kInfinity, -kInfinity}) {
        SCOPED_TRACE(testing::Message() << "kinds " << kinds << " key " << key << ' ' << poison);
        auto in = clean;
        in.k.at(0, 0, key, 4) = converted<TypeParam>(poison);
        expect_spoiled_rows(run_full(in, laid.options), expected, seen,
                            [&](const Row& r) { return seen.at(r.b, r.h, r.i, key) != 0; });
      }
    }
  }
}

// One column of out, of the rows that see the key; scores know nothing of V.
TYPED_TEST(HiddenOptions, PoisonInV) {
  const auto clean = random_inputs<TypeParam>(kShape, 3);
  FullOptions<TypeParam> full(kShape, 4);
  full.window = {20, 6};
  full.q_offset = {185};
  for (const unsigned kinds : kHidingKinds) {
    const LaidOut<TypeParam> laid(full, kinds);
    const auto expected = run_full(clean, laid.options);
    const auto seen = seen_pairs(clean, laid.options);
    for (const std::int64_t key : {0, 20, 100, 191, 192, 196, 205, 229}) {
      for (const double poison : {kNaN, -kInfinity}) {
        SCOPED_TRACE(testing::Message() << "kinds " << kinds << " key " << key << ' ' << poison);
        auto in = clean;
        in.v.at(0, 0, key, 4) = converted<TypeParam>(poison);
        auto result = run_full(in, laid.options);
        for_each_index(kShape.lse(), [&](auto b, auto h, auto i, auto) {
          if (seen.at(b, h, i, key) == 0) return;
          for (auto part : {&FullResult<TypeParam>::out, &FullResult<TypeParam>::alone}) {
            TypeParam& spoiled = (result.*part).at(b, h, i, 4);
            EXPECT_FALSE(finite(spoiled));
            spoiled = (expected.*part).at(b, h, i, 4);
          }
        });
        EXPECT_TRUE(same_bits(result, expected));
      }
    }
  }
}

// A bias hides nothing but by -infinity; at pairs hidden otherwise it may be anything.
TYPED_TEST(HiddenOptions, PoisonInBias) {
  const auto in = random_inputs<TypeParam>(kShape, 5);
  FullOptions<TypeParam> full(kShape, 6);
  full.window = {60, 6};
  full.q_offset = {150};
  for (const unsigned kinds : {kMask, kWindow, kRagged, kMask | kSoftcap | kAlibi, kEvery}) {
    SCOPED_TRACE(testing::Message() << "kinds " << kinds);
    const LaidOut<TypeParam> without(full, kinds & ~kBias);
    const auto seen = seen_pairs(in, without.options);
    const auto expected = run_full(in, LaidOut<TypeParam>(full, kinds | kBias).options);
    auto poisoned = full;
    for_each_index(kShape.weights(), [&](auto b, auto h, auto i, auto j) {
      if (seen.at(b, h, i, j) != 0) return;
      poisoned.bias.at(b, h, i, j) = converted<TypeParam>((i + j) % 2 == 0 ? kNaN : kInfinity);
    });
    const LaidOut<TypeParam> laid(poisoned, kinds | kBias);
    const auto pairs = seen_pairs(in, laid.options);
    EXPECT_TRUE(same_bits(run_full(in, laid.options), expected));
    for (const double poison : {kNaN, kInfinity}) {
      auto visible = poisoned;
      std::int64_t key = 0;
      while (seen.at(0, 1, 7, key) == 0) ++key;
      visible.bias.at(0, 1, 7, key) = converted<TypeParam>(poison);
      auto seen_now = pairs;
      seen_now.at(0, 1, 7, key) = 1;
      expect_spoiled_rows(run_full(in, LaidOut<TypeParam>(visible, kinds | kBias).options),
                          expected, seen_now, [&](const Row& r) { return r.h == 1 && r.i == 7; });
    }
  }
}

/// Biases in f64 beside inputs of any type.
template <class T>
struct FiniteMinimum {
  Inputs<T> in = random_inputs<T>({1, 1, 2, 60, 410, 12, 5}, 7);
  TestTensor<double> bias{{1, 2, 60, 410}};
  Options options;

  FiniteMinimum() {
    for_each_index(bias.shape(), [&](auto b, auto h, auto i, auto j) { bias.at(b, h, i, j) = 0; });
    options.bias = bias.view();
  }
};

template <class T>
void expect_mean(const FullResult<T>& result, const Inputs<T>& in, const Row& r) {
  const std::int64_t keys = in.v.shape()[2];
  for (std::int64_t j = 0; j < keys; ++j)
    EXPECT_NEAR(double(result.weights.at(r.b, r.h, r.i, j)), 1.0 / double(keys), 1e-9);
  EXPECT_NEAR(double(result.entropy.at(r.b, r.h, r.i, 0)), std::log(double(keys)), 1e-5);
  EXPECT_EQ(result.top_keys.at(r.b, r.h, r.i, 0), 0);
  EXPECT_TRUE(finite(result.lse.at(r.b, r.h, r.i, 0)));
}

TYPED_TEST(HiddenOptions, AFiniteMinimumIsANumber) {
  FiniteMinimum<TypeParam> call;
  const double float_lowest = -double(std::numeric_limits<float>::max());
  const double lowest[] = {float_lowest, -std::numeric_limits<double>::max()};
  // Rows 3 and 50 are full of one; rows 4 to 20 hold some of them, before and after ordinary keys.
  for_each_index(call.bias.shape(), [&](auto b, auto h, auto i, auto j) {
    const double least = lowest[h];
    if (i == 3 || i == 50) call.bias.at(b, h, i, j) = least;
    if (i == 4) call.bias.at(b, h, i, j) = j < 400 ? least : 1;
    if (i == 5) call.bias.at(b, h, i, j) = j < 3 ? 1 : least;
    if (i >= 6 && i < 20 && (i + j) % 3 != 0) call.bias.at(b, h, i, j) = least;
  });
  const auto result = run_full(call.in, call.options);
  for (const std::int64_t h : {0, 1}) {
    for (const std::int64_t i : {3, 50}) expect_mean(result, call.in, {0, h, i});
  }
  // In f32 what it cannot hold counts as its largest number: no row looks empty.
  auto judged = call;
  for_each_index(call.bias.shape(), [&](auto b, auto h, auto i, auto j) {
    double& bias = judged.bias.at(b, h, i, j);
    if (sizeof(ComputeType<TypeParam>) == 4) bias = std::max(bias, float_lowest);
  });
  judged.options.bias = judged.bias.view();
  EXPECT_TRUE(matches_oracle(call.in, judged.options, Result<TypeParam>{result.out, result.lse}));
  // Beside ordinary keys they weigh nothing: the bits of keys that are hidden.
  auto hidden = call;
  for_each_index(call.bias.shape(), [&](auto b, auto h, auto i, auto j) {
    if (i >= 4 && i < 20 && call.bias.at(b, h, i, j) == lowest[h])
      hidden.bias.at(b, h, i, j) = -kInfinity;
  });
  hidden.options.bias = hidden.bias.view();
  const auto without = run_full(hidden.in, hidden.options);
  for_each_index({1, 2, 60, 1}, [&](auto b, auto h, auto i, auto) {
    const Row r{b, h, i};
    if (i == 4 || i == 5) return;  // a reference of their own
    EXPECT_TRUE(same_row(result.weights, r, without.weights, r)) << i;
  });
}

TYPED_TEST(HiddenOptions, RowsWithoutKeysAndRowsThatDoNotExist) {
  using C = ComputeType<TypeParam>;
  const ProblemShape shape{1, 2, 2, 12, 30, 8, 8};
  const auto in = random_inputs<TypeParam>(shape, 8);
  const double logits[] = {1.7, -kInfinity, -250, 88};
  const std::int64_t q_len[] = {9};
  for (const bool with_sinks : {false, true}) {
    for (const unsigned kinds : {kMask, kMask | kBias | kSoftcap | kAlibi}) {
      const FullOptions<TypeParam> full(shape, 9);  // hides all keys of row 2
      const LaidOut<TypeParam> laid(full, kinds);
      Options options = laid.options;
      options.q_len = q_len;
      if (with_sinks) options.sinks = view_per_head(logits, 4);
      const auto result = run_full(in, options);
      for (std::int64_t h = 0; h < 4; ++h) {
        for (const std::int64_t i : {2, 9, 10, 11}) {
          const double lse = with_sinks && i == 2 ? logits[h] : -kInfinity;
          EXPECT_EQ(result.lse.at(0, h, i, 0), C(lse)) << h << ' ' << i;
          EXPECT_EQ(result.entropy.at(0, h, i, 0), 0);
          for (std::int64_t d = 0; d < 8; ++d) {
            EXPECT_EQ(converted<double>(result.out.at(0, h, i, d)), 0);
            EXPECT_FALSE(std::signbit(converted<double>(result.out.at(0, h, i, d))));
          }
          for (std::int64_t j = 0; j < 30; ++j) EXPECT_EQ(result.weights.at(0, h, i, j), 0);
          for (std::int64_t n = 0; n < 3; ++n) {
            EXPECT_EQ(result.top_weights.at(0, h, i, n), 0);
            EXPECT_EQ(result.top_keys.at(0, h, i, n), -1);
          }
        }
      }
    }
  }
}

TYPED_TEST(HiddenOptions, ASinkThatIsNoNumberSpoilsItsHead) {
  const ProblemShape shape{1, 1, 3, 10, 40, 8, 8};
  const auto in = random_inputs<TypeParam>(shape, 10);
  FullOptions<TypeParam> full(shape, 11);
  const auto clean = full;
  const LaidOut<TypeParam> good(clean, kMask | kSinks);
  const auto expected = run_full(in, good.options);
  const auto seen = seen_pairs(in, good.options);
  for (const double poison : {kNaN, kInfinity}) {
    full.sinks.at(0, 1, 0, 0) = poison;
    const LaidOut<TypeParam> laid(full, kMask | kSinks);
    expect_spoiled_rows(run_full(in, laid.options), expected, seen,
                        [](const Row& r) { return r.h == 1; });
  }
}

}  // namespace
}  // namespace regard::test

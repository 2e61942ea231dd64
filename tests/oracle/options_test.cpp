// The oracle against plain loops in long double for random combinations of all options.
#include <gtest/gtest.h>

#include <cmath>

#include "oracle/rows.h"
#include "regard/half.h"
#include "support/loops.h"
#include "support/random_options.h"

namespace regard::test {
namespace {

constexpr ProblemShape kShapes[] = {
    {1, 1, 1, 1, 1, 1, 1}, {2, 2, 2, 5, 7, 3, 4}, {1, 1, 3, 9, 6, 16, 2}, {3, 2, 1, 4, 20, 8, 5}};

struct Combination {
  Inputs<double> in;
  RandomOptions random;
  Combination(const ProblemShape& shape, std::uint64_t seed)
      : in(random_inputs<double>(shape, seed)), random(shape, seed) {}
};

/// Scores are of size 20 at most: their exponentials agree to 20 roundings or so, and what f64
/// keeps of a weight close to 1 shows in the entropy.
constexpr double kRelative = 64 * 0x1p-53;

void compare(const Combination& c, const ProblemShape& shape) {
  const Loops<long double> loops(shape, c.random.options);
  const LoopResult<double> expected = run_loops(loops, c.in);
  Oracle oracle;
  const Status status =
      oracle.prepare(c.in.q.view(), c.in.k.view(), c.in.v.view(), c.random.options);
  ASSERT_TRUE(status.ok()) << status.message();
  OracleRow row;
  for_each_index(shape.lse(), [&](auto b, auto h, auto i, auto) {
    SCOPED_TRACE(testing::Message() << "row " << b << ' ' << h << ' ' << i);
    ASSERT_TRUE(oracle.row(b, h, i, row).ok());
    ASSERT_EQ(row.exists, loops.exists({b, h, i}));
    std::int64_t visible = 0;
    double entropy = 0, weight_sum = 0;
    for (std::int64_t j = 0; j < shape.skv; ++j) {
      visible += row.exists && loops.sees({b, h, i}, j);
      const double p = expected.weights.at(b, h, i, j);
      ASSERT_NEAR(row.weights[j], p, kRelative * p);
      weight_sum += p;
      if (p > 0) entropy -= p * std::log(p);
    }
    ASSERT_EQ(row.visible, visible);
    ASSERT_NEAR(row.entropy, entropy, 4 * kRelative);
    ASSERT_NEAR(row.weight_sum, weight_sum, kRelative);
    const double lse = expected.lse.at(b, h, i, 0);
    ASSERT_TRUE(row.lse == lse || std::fabs(row.lse - lse) <= kRelative * (1 + std::fabs(lse)));
    for (std::int64_t d = 0; d < shape.dv; ++d)
      ASSERT_NEAR(row.out[d], expected.out.at(b, h, i, d), kRelative * row.out_magnitude[d]);
  });
}

TEST(OracleOptions, AgreeWithLongDouble) {
  for (const ProblemShape& shape : kShapes) {
    for (std::uint64_t seed = 1; seed <= 150; ++seed) {
      SCOPED_TRACE(testing::Message() << shape << " seed " << seed);
      compare(Combination(shape, seed), shape);
      if (HasFatalFailure()) return;
    }
  }
}

/// Bits of `exact` in the type of an option's tensor.
template <class T, class Convert>
void expect_same_answer(const ProblemShape& shape, const Convert& convert) {
  const auto in = random_inputs<double>(shape, 3);
  auto bias = normal_tensor<double>({1, 1, shape.sq, shape.skv}, 4);
  auto sinks = normal_tensor<double>({1, shape.heads(), 1, 1}, 5);
  std::vector<T> narrow_bias, narrow_sinks;
  const auto narrow = [&](TestTensor<double>& tensor, std::vector<T>& list) {
    for_each_index(tensor.shape(), [&](auto b, auto h, auto i, auto j) {
      double& x = tensor.at(b, h, i, j);
      x = std::ldexp(std::round(std::ldexp(x, 5)), -5);  // exact in every type
      list.push_back(convert(float(x)));
    });
  };
  narrow(bias, narrow_bias);
  narrow(sinks, narrow_sinks);
  Options wide, thin;
  wide.bias = bias.view();
  wide.sinks = sinks.view();
  thin.bias = view(static_cast<const T*>(narrow_bias.data()), bias.shape());
  thin.sinks = view(static_cast<const T*>(narrow_sinks.data()), sinks.shape());
  std::vector<T> q, k, v;
  auto exact = in;
  narrow(exact.q, q);
  narrow(exact.k, k);
  narrow(exact.v, v);
  for (std::int64_t h = 0; h < shape.heads(); ++h) {
    const auto a = oracle_row(exact.q.view(), exact.k.view(), exact.v.view(), wide, 0, h, 1);
    const auto b = oracle_row(view(static_cast<const T*>(q.data()), shape.q()),
                              view(static_cast<const T*>(k.data()), shape.k()),
                              view(static_cast<const T*>(v.data()), shape.v()), thin, 0, h, 1);
    EXPECT_EQ(a.out, b.out);
    EXPECT_EQ(a.weights, b.weights);
    EXPECT_EQ(a.lse, b.lse);
  }
}

TEST(OracleOptions, EveryFloatTypeIsReadExactly) {
  const ProblemShape shape{1, 2, 2, 3, 6, 5, 4};
  expect_same_answer<float>(shape, [](float x) { return x; });
  expect_same_answer<F16>(shape, [](float x) { return to_f16(x); });
  expect_same_answer<BF16>(shape, [](float x) { return to_bf16(x); });
}

TEST(OracleOptions, StagesAreTheScoresOnTheirWay) {
  const ProblemShape shape{1, 1, 1, 4, 6, 5, 3};
  const auto in = random_inputs<double>(shape, 6);
  const auto bias = normal_tensor<double>({1, 1, 4, 6}, 7);
  Options options;
  options.scale = 0.7;
  options.softcap = 1.5;
  options.bias = bias.view();
  options.causal = Causal::bottom_right;
  for (const Stage stage : {Stage::scaled, Stage::capped, Stage::biased, Stage::softmax}) {
    options.weights_stage = stage;
    const OracleRow row = oracle_row(in.q.view(), in.k.view(), in.v.view(), options, 0, 0, 1);
    for (std::int64_t j = 0; j < 6; ++j) {
      double s = 0;
      for (std::int64_t d = 0; d < 5; ++d) s += 0.7 * in.q.at(0, 0, 1, d) * in.k.at(0, 0, j, d);
      if (stage != Stage::scaled) s = 1.5 * std::tanh(s / 1.5);
      if (stage != Stage::scaled && stage != Stage::capped) s += bias.at(0, 0, 1, j);
      if (j > 3) {
        EXPECT_EQ(row.scores[j], -HUGE_VAL);
      } else {
        EXPECT_NEAR(row.scores[j], s, 1e-14);
      }
    }
  }
}

TEST(OracleOptions, ASpoiledScoreSurvivesTheCap) {
  auto in = random_inputs<double>({1, 1, 1, 2, 3, 2, 2}, 8);
  in.k.at(0, 0, 1, 0) = HUGE_VAL;
  Options options;
  options.softcap = 2;
  const OracleRow row = oracle_row(in.q.view(), in.k.view(), in.v.view(), options);
  EXPECT_TRUE(std::isnan(row.out[0]));
  EXPECT_TRUE(std::isnan(row.lse));
}

TEST(OracleOptions, ASinkThatIsNoNumberSpoilsItsHead) {
  const auto in = random_inputs<double>({1, 2, 1, 2, 3, 2, 2}, 9);
  for (const double poison : {std::nan(""), HUGE_VAL}) {
    const double sinks[] = {0.5, poison};
    Options options;
    options.sinks = view_per_head(sinks, 2);
    EXPECT_TRUE(std::isfinite(oracle_row(in.q.view(), in.k.view(), in.v.view(), options).out[0]));
    options.causal = Causal::top_left;
    for (const std::int64_t offset : {0, -1}) {  // row 0 sees a key, or none
      options.q_offset = {&offset, 1};
      const OracleRow row = oracle_row(in.q.view(), in.k.view(), in.v.view(), options, 0, 1, 0);
      EXPECT_EQ(row.visible, offset + 1);
      EXPECT_TRUE(std::isnan(row.out[0]));
      EXPECT_TRUE(std::isnan(row.lse));
      EXPECT_TRUE(std::isnan(row.entropy));
    }
  }
}

TEST(OracleOptions, ARowPastItsLengthIsNothingEvenWithASink) {
  const auto in = random_inputs<double>({1, 1, 1, 3, 3, 2, 2}, 10);
  const double sinks[] = {0.5};
  const std::int64_t q_len[] = {2};
  Options options;
  options.sinks = view_per_head(sinks, 1);
  options.q_len = q_len;
  const OracleRow row = oracle_row(in.q.view(), in.k.view(), in.v.view(), options, 0, 0, 2);
  EXPECT_FALSE(row.exists);
  EXPECT_EQ(row.lse, -HUGE_VAL);
  EXPECT_EQ(row.out, std::vector<double>(2, 0.0));
}

TEST(OracleOptions, BiasIsNotReadWhereTheMaskHides) {
  const auto in = random_inputs<double>({1, 1, 1, 1, 3, 2, 2}, 11);
  const double clean[] = {0.5, 0, -1}, dirty[] = {0.5, std::nan(""), -1};
  const bool mask[] = {true, false, true};
  const std::int64_t axis[] = {3};
  Options options;
  options.mask = view_last_axes(mask, axis);
  options.bias = view_last_axes(clean, axis);
  const OracleRow a = oracle_row(in.q.view(), in.k.view(), in.v.view(), options);
  options.bias = view_last_axes(dirty, axis);
  EXPECT_EQ(oracle_row(in.q.view(), in.k.view(), in.v.view(), options).out, a.out);
}

TEST(OracleOptions, ABiasHidesOrSpoilsButNeverBoth) {
  auto in = random_inputs<double>({1, 1, 1, 1, 3, 2, 2}, 13);
  const std::int64_t axis[] = {3};
  for (const double number : {HUGE_VAL, std::nan("")}) {
    const double bias[] = {0.5, number, -1};
    Options options;
    options.bias = view_last_axes(bias, axis);
    EXPECT_TRUE(std::isnan(oracle_row(in.q.view(), in.k.view(), in.v.view(), options).out[0]));
  }
  in.k.at(0, 0, 1, 0) = in.v.at(0, 0, 1, 1) = std::nan("");
  const double hides[] = {0.5, -HUGE_VAL, -1};
  Options options;
  options.bias = view_last_axes(hides, axis);
  const OracleRow row = oracle_row(in.q.view(), in.k.view(), in.v.view(), options);
  EXPECT_EQ(row.visible, 2);
  EXPECT_TRUE(std::isfinite(row.out[1]));
  EXPECT_EQ(row.weights[1], 0);
}

TEST(OracleOptions, OffsetsBeyondTheEndsOfIntegers) {
  const auto in = random_inputs<double>({1, 1, 1, 3, 4, 2, 2}, 12);
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  Options options;
  for (const std::int64_t offset : {most, -most - 1}) {
    const std::int64_t offsets[] = {offset};
    options.q_offset = offsets;
    options.causal = Causal::top_left;
    options.window = {};
    EXPECT_EQ(oracle_row(in.q.view(), in.k.view(), in.v.view(), options, 0, 0, 2).visible,
              offset > 0 ? 4 : 0);
    options.causal = Causal::none;
    options.window = {most, most};
    EXPECT_EQ(oracle_row(in.q.view(), in.k.view(), in.v.view(), options, 0, 0, 2).visible, 2);
  }
}

}  // namespace
}  // namespace regard::test

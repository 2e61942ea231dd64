// The bounds of LSE, weights, entropy and scores hold for plain loops in f32, and are not idle.
#include <cmath>
#include <limits>

#include "check/judged.h"
#include "support/loops.h"
#include "support/random_options.h"

namespace regard::test {
namespace {

constexpr ProblemShape kShape{2, 2, 2, 5, 30, 24, 3};

/// Calls f(row, b, h, i) for every row of a call.
template <class F>
void for_each_row(const Inputs<float>& in, const Options& options, const ErrorBound& bound,
                  const F& f) {
  Oracle oracle;
  const Status status = oracle.prepare(in.q.view(), in.k.view(), in.v.view(), options);
  ASSERT_TRUE(status.ok()) << status.message();
  OracleRow row;
  for_each_index(kShape.lse(), [&](auto b, auto h, auto i, auto) {
    ASSERT_TRUE(oracle.row(b, h, i, row, bound.score).ok());
    f(row, b, h, i);
  });
}

TEST(Parts, PlainLoopsKeepToEachBound) {
  const auto in = random_inputs<float>(kShape, 1);
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    const RandomOptions random(kShape, seed);
    const Loops<float> loops(kShape, random.options);
    const auto result = run_loops(loops, in);
    const ErrorBound bound = error_bound(DType::f32, DType::f32, kShape.d, random.options);
    for_each_row(in, random.options, bound, [&](const OracleRow& row, auto b, auto h, auto i) {
      float entropy = 0;
      for (std::int64_t j = 0; j < kShape.skv; ++j) {
        const float p = result.weights.at(b, h, i, j);
        ASSERT_LE(std::fabs(double(p) - row.weights[j]), weight_bound(bound, row, j));
        if (p > 0) entropy -= p * std::log(p);
      }
      ASSERT_LE(std::fabs(double(entropy) - row.entropy), entropy_bound(bound, row));
      if (std::isinf(row.lse)) return;
      ASSERT_LE(std::fabs(double(result.lse.at(b, h, i, 0)) - row.lse), lse_bound(bound, row));
    });
  }
}

TEST(Parts, PlainScoresKeepToTheirBound) {
  const auto in = random_inputs<float>(kShape, 2);
  for (const Stage stage : {Stage::scaled, Stage::capped, Stage::biased}) {
    const auto slopes = uniform_tensor<double>({1, 4, 1, 1}, 3, 0, 1);
    Options options;
    options.softcap = 1.5;
    options.alibi_slopes = slopes.view();
    options.weights_stage = stage;
    const Loops<float> loops(kShape, options);
    const ErrorBound bound = error_bound(DType::f32, DType::f32, kShape.d, options);
    for_each_row(in, options, bound, [&](const OracleRow& row, auto b, auto h, auto i) {
      for (std::int64_t j = 0; j < kShape.skv; ++j) {
        float dot = 0;
        for (std::int64_t d = 0; d < kShape.d; ++d)
          dot = std::fma(in.q.at(b, h, i, d), in.k.at(b, h / 2, j, d), dot);
        float s = float(1 / std::sqrt(24.0)) * dot;
        if (stage != Stage::scaled) s = loops.capped(s);
        if (stage == Stage::biased) s = loops.biased(s, {b, h, i}, j);
        ASSERT_LE(std::fabs(double(s) - row.scores[j]), score_bound(bound, row, j));
        ASSERT_LT(score_bound(bound, row, j), 1e-4);
      }
    });
  }
}

class JudgedWeights : public testing::Test {
 protected:
  CheckReport judged() {
    CheckSettings settings;
    settings.weights = weights.view();
    return judge(in, options, result.out, result.lse, settings);
  }
  Options options;
  Inputs<float> in = random_inputs<float>(kShape, 7);
  LoopResult<float> result = [this] {
    const Loops<float> loops(kShape, {});
    return run_loops(loops, in);
  }();
  TestTensor<float> weights = result.weights;
};

TEST_F(JudgedWeights, AWrongOneIsFoundByItsKey) {
  EXPECT_TRUE(judged().passed);
  weights.at(1, 2, 3, 17) *= 1.001F;
  const CheckReport report = judged();
  EXPECT_EQ(report.rows_failed, 1);
  const RowVerdict& worst = report.worst.front();
  EXPECT_EQ(worst.what, RowVerdict::What::weights);
  EXPECT_EQ(worst.i, 3);
  EXPECT_EQ(worst.d, 17);
}

TEST_F(JudgedWeights, OfChosenRowsInTheirOrder) {
  const std::int64_t rows[] = {4, 0, 4};
  options.rows = rows;
  weights = TestTensor<float>({2, 4, 3, kShape.skv});
  for_each_index(weights.shape(), [&](auto b, auto h, auto r, auto j) {
    weights.at(b, h, r, j) = result.weights.at(b, h, rows[r], j);
  });
  EXPECT_TRUE(judged().passed);
  weights.at(0, 0, 2, 5) += 0.01F;
  EXPECT_EQ(judged().rows_failed, 1);
  EXPECT_EQ(judged().worst.front().i, 4);
}

TEST_F(JudgedWeights, OrScoresOfAStage) {
  options.weights_stage = Stage::scaled;
  options.causal = Causal::bottom_right;
  const Loops<float> loops(kShape, options);
  result = run_loops(loops, in);
  for_each_index(weights.shape(), [&](auto b, auto h, auto i, auto j) {
    float dot = 0;
    for (std::int64_t d = 0; d < kShape.d; ++d)
      dot = std::fma(in.q.at(b, h, i, d), in.k.at(b, h / 2, j, d), dot);
    weights.at(b, h, i, j) = loops.sees({b, h, i}, j) ? dot / std::sqrt(24.0F) : -HUGE_VALF;
  });
  EXPECT_TRUE(judged().passed);
  weights.at(0, 0, 0, kShape.skv - 1) = -1e30F;
  EXPECT_EQ(judged().rows_failed, 1) << "a hidden score is -infinity and nothing else";
}

TEST_F(JudgedWeights, NameAConventionToo) {
  options.causal = Causal::bottom_right;
  const CheckReport report = judged();
  EXPECT_EQ(report.convention.name, "causal=none");
}

// A bound made of the row's largest sizes would leave room for anything here.
TEST(Parts, AHiddenKeyOfLargeBiasWidensNothing) {
  const auto in = random_inputs<float>(kShape, 4);
  for (const double large : {-1e4, -3.4028234663852886e38}) {
    TestTensor<double> bias({1, 1, 1, kShape.skv});
    for (std::int64_t j = 0; j < kShape.skv; ++j) bias.at(0, 0, 0, j) = j % 3 == 0 ? large : 0;
    Options options;
    options.bias = bias.view();
    const ErrorBound bound = error_bound(DType::f32, DType::f32, kShape.d, options);
    for_each_row(in, options, bound, [&](const OracleRow& row, auto, auto, auto) {
      EXPECT_LT(row.weight_error, 2e-5);
      for (std::int64_t d = 0; d < kShape.dv; ++d)
        EXPECT_LT(out_bound(bound, row, d), 1e-4 * row.out_magnitude[d]);
    });
  }
}

TEST(Parts, ARowFullOfTheLargestNumberIsTheMean) {
  const auto in = random_inputs<float>(kShape, 5);
  const double lowest = -3.4028234663852886e38;
  Options options;
  options.bias = view(&lowest, {1, 1, 1, 1});
  const ErrorBound bound = error_bound(DType::f32, DType::f32, kShape.d, options);
  for_each_row(in, options, bound, [&](const OracleRow& row, auto, auto, auto) {
    for (std::int64_t j = 0; j < kShape.skv; ++j) EXPECT_DOUBLE_EQ(row.weights[j], 1.0 / 30);
  });
}

// Sizes near the ends of the range must not make a bound that says nothing.
TEST(Parts, BoundsOfTheLargestNumbersAreNumbers) {
  const auto in = random_inputs<double>(kShape, 5);
  const double lowest[] = {-std::numeric_limits<double>::max(), -1e300};
  TestTensor<double> bias({1, 1, 1, kShape.skv});
  for (const bool mixed : {false, true}) {
    for (std::int64_t j = 0; j < kShape.skv; ++j) bias.at(0, 0, 0, j) = lowest[mixed ? j % 2 : 0];
    Options options;
    options.bias = bias.view();
    Oracle oracle;
    ASSERT_TRUE(oracle.prepare(in.q.view(), in.k.view(), in.v.view(), options).ok());
    for (const DType type : {DType::f32, DType::f64}) {
      const ErrorBound bound = error_bound(type, type, kShape.d, options);
      OracleRow row;
      ASSERT_TRUE(oracle.row(0, 0, 0, row, bound.score).ok());
      EXPECT_TRUE(std::isfinite(lse_bound(bound, row)));
      EXPECT_TRUE(std::isfinite(entropy_bound(bound, row)));
      for (std::int64_t j = 0; j < kShape.skv; ++j)
        EXPECT_TRUE(std::isfinite(weight_bound(bound, row, j))) << j;
    }
  }
}

// Behind a cap that is reached, errors of large scores no longer show.
TEST(Parts, ACapTakesErrorsAway) {
  const auto in = random_inputs<float>(kShape, 6);
  Options options;
  options.scale = 1000;
  const ErrorBound open = error_bound(DType::f32, DType::f32, kShape.d, options);
  double without = 0, with = 0;
  for_each_row(in, options, open,
               [&](const OracleRow& row, auto, auto, auto) { without += row.weight_error; });
  options.softcap = 3;
  const ErrorBound capped = error_bound(DType::f32, DType::f32, kShape.d, options);
  for_each_row(in, options, capped,
               [&](const OracleRow& row, auto, auto, auto) { with += row.weight_error; });
  EXPECT_LT(with, without / 10);
}

}  // namespace
}  // namespace regard::test

// The bound's formulas, and that it is neither broken by a plain implementation nor idle.
#include <algorithm>
#include <cmath>
#include <limits>

#include "check/judged.h"
#include "regard/attention.h"

namespace regard::test {
namespace {

/// One row with round sizes: p = 1/2 each, v = 1, and what the bound is made of.
OracleRow two_keys() {
  OracleRow row;
  row.visible = 2;
  row.weights = {0.5, 0.5};
  row.weight_errors = {1e-3, 1e-3};
  row.weight_error = 1e-3;
  row.weight_sum = 1;
  row.out = {1};
  row.out_magnitude = {1};
  row.out_error = {1e-3};
  row.value_sum = {2};
  return row;
}

TEST(Bound, ScoresSufferWhatTheirStepsCost) {
  const ErrorBound f32 = error_bound(DType::f32, DType::f32, 64);
  EXPECT_EQ(f32.unit, 0x1p-24);
  EXPECT_EQ(f32.score.unit, 0x1p-24);
  EXPECT_EQ(f32.score.magnitude, 8 + 2);
  EXPECT_EQ(f32.score.score, 32);
  EXPECT_EQ(f32.score.constant, 3);
  EXPECT_EQ(f32.score.capped + f32.score.alibi + f32.score.bias + f32.score.sum, 0);
  EXPECT_DOUBLE_EQ(f32.score.lag, 32 * std::log(2.0));
  EXPECT_DOUBLE_EQ(f32.score.distance, 1 + 1 + 4 / (16 * std::log(2.0)));
  EXPECT_EQ(f32.floor, 0x1p-126);
  const ErrorBound f64 = error_bound(DType::f64, DType::f64, 256);
  EXPECT_EQ(f64.unit, 0x1p-53);
  EXPECT_EQ(f64.score.constant, 6);
  EXPECT_EQ(f64.floor, 0x1p-1022);
}

TEST(Bound, OptionsAddTheirSteps) {
  const double number = 0.5;
  Options options;
  options.softcap = 2;
  options.bias = view(&number, {1, 1, 1, 1});
  options.alibi_slopes = view(&number, {1, 1, 1, 1});
  options.sinks = view(&number, {1, 1, 1, 1});
  const ErrorBound bound = error_bound(DType::f32, DType::f32, 64, options);
  EXPECT_EQ(bound.score.capped, 10);
  EXPECT_EQ(bound.score.alibi, 3);
  EXPECT_EQ(bound.score.bias, 1) << "an f64 bias is rounded to f32";
  EXPECT_EQ(bound.score.sum, 2);
  EXPECT_EQ(bound.score.sink, 3);
  EXPECT_EQ(bound.sink_terms, 1);
  EXPECT_DOUBLE_EQ(bound.score.distance, 3 + 3 + 4 / (16 * std::log(2.0)));
  EXPECT_EQ(error_bound(DType::f64, DType::f64, 64, options).score.bias, 0);
  EXPECT_EQ(error_bound(DType::f64, DType::f64, 64, options).score.capped, 13);
}

TEST(Bound, LseBesideAFiniteMinimumIsJudged) {
  const ProblemShape shape{1, 1, 1, 4, 40, 64, 2};
  const auto in = random_inputs<float>(shape, 3);
  TestTensor<float> bias({1, 1, 1, 40});
  for (std::int64_t j = 0; j < 40; ++j)
    bias.at(0, 0, 0, j) = j % 4 == 0 ? -std::numeric_limits<float>::max() : 0;
  Options options;
  options.bias = bias.view();
  TestTensor<float> out(shape.out()), lse(shape.lse());
  const Status status = forward(Context(1), in.q.view(), in.k.view(), in.v.view(),
                                {.out = out.tensor(), .lse = lse.tensor()}, options);
  ASSERT_TRUE(status.ok()) << status.message();
  for (const bool wrong : {false, true}) {
    if (wrong) lse.at(0, 0, 2, 0) += 1e-3F;
    CheckReport report;
    ASSERT_TRUE(
        check(in.q.view(), in.k.view(), in.v.view(), options, out.view(), lse.view(), {}, report)
            .ok());
    EXPECT_EQ(report.rows_failed, wrong) << report.worst_units;
  }
}

// Rows of padding beside a sink: all keys at the finite minimum, and out is 0.
TEST(Bound, OutUnderAFarLargerSinkIsJudged) {
  const ProblemShape shape{1, 1, 1, 4, 40, 64, 2};
  const auto in = random_inputs<float>(shape, 3);
  const float least = -std::numeric_limits<float>::max(), sink = 1;
  Options options;
  options.bias = view(&least, {1, 1, 1, 1});
  options.sinks = view_per_head(&sink, 1);
  TestTensor<float> out(shape.out()), lse(shape.lse());
  for_each_index(shape.out(), [&](auto b, auto h, auto i, auto d) {
    out.at(b, h, i, d) = i == 2 ? 1e-3F : 0;
    lse.at(b, h, i, 0) = sink;
  });
  EXPECT_EQ(judge(in, options, out, lse).rows_failed, 1);
}

TEST(Bound, LseOfScoresThatAreOffByThousandsIsNotAccused) {
  // Scores near 1e12 in f32 are off by tens of thousands.
  const ProblemShape shape{1, 1, 1, 4, 40, 64, 2};
  Inputs<float> in = random_inputs<float>(shape, 3);
  fill_normal(in.q, 4, 0, 1e12);
  TestTensor<float> out(shape.out()), lse(shape.lse());
  const Status status = forward(Context(1), in.q.view(), in.k.view(), in.v.view(),
                                {.out = out.tensor(), .lse = lse.tensor()});
  ASSERT_TRUE(status.ok()) << status.message();
  CheckReport report;
  ASSERT_TRUE(
      check(in.q.view(), in.k.view(), in.v.view(), {}, out.view(), lse.view(), {}, report).ok());
  EXPECT_TRUE(report.passed) << report.worst_units;
}

TEST(Bound, OutFollowsItsFormula) {
  const ErrorBound f32 = error_bound(DType::f32, DType::f32, 64);
  const double relative = 0x1p-24 * (2 + 2 + 2 * 2 / 192.0 + 2);
  const double weighed = (1e-3 + 1e-3 + relative * (1 + 1e-3)) * (1 + 1e-3);
  EXPECT_NEAR(out_bound(f32, two_keys(), 0), weighed + 0x1p-126 * 4, 1e-15);
  const ErrorBound bf16 = error_bound(DType::bf16, DType::bf16, 64);
  const double rounding = relative + 2 * 0x1p-7;
  const double before = (2e-3 + rounding * (1 + 1e-3)) * (1 + 1e-3);
  EXPECT_NEAR(out_bound(bf16, two_keys(), 0), before + 0x1p-8 * (1 + before), 1e-12);
}

TEST(Bound, MeaninglessWeightsStillLeaveAnAverage) {
  OracleRow row = two_keys();
  row.weight_error = row.out_error[0] = 1e300;
  const double bound = out_bound(error_bound(DType::f32, DType::f32, 64), row, 0);
  EXPECT_NEAR(bound, 3, 1e-5);
}

TEST(Bound, HighPrecisionKeepsWeights) {
  Options options;
  EXPECT_EQ(error_bound(DType::bf16, DType::f32, 64, options).weight_rounding, 0x1p-7);
  EXPECT_EQ(error_bound(DType::f16, DType::f32, 64, options).weight_rounding, 0x1p-10);
  EXPECT_EQ(error_bound(DType::f16, DType::f32, 64, options).weight_floor, 0x1p-25);
  options.precision = Precision::high;
  for (const DType dtype : {DType::f16, DType::bf16}) {
    EXPECT_EQ(error_bound(dtype, DType::f32, 64, options).weight_rounding, 0);
    EXPECT_EQ(error_bound(dtype, DType::f32, 64, options).weight_floor, 0);
  }
}

/// Sums of n equal f32 values in blocks, as the mean of V that a row with equal weights is.
float mean_of_equal(std::int64_t n, float value, std::int64_t block) {
  float sum = 0;
  for (std::int64_t begin = 0; begin < n; begin += block) {
    float part = 0;
    for (std::int64_t j = begin; j < std::min(n, begin + block); ++j) part += value;
    sum += part;
  }
  return sum / float(n);
}

TEST(Bound, EqualTermsInBlocksPassAndOneAfterAnotherFail) {
  const std::int64_t n = 65536;
  auto in = random_inputs<float>({1, 1, 1, 1, n, 1, 1}, 5);
  Options options;
  options.scale = 0;
  for (const float value : {0.1F, 0.7F}) {
    for (std::int64_t j = 0; j < n; ++j) in.v.at(0, 0, j, 0) = value;
    auto result = oracle_result(in, options);
    result.out.at(0, 0, 0, 0) = mean_of_equal(n, value, 192);
    EXPECT_TRUE(judge(in, options, result.out, result.lse).passed) << value;
    result.out.at(0, 0, 0, 0) = mean_of_equal(n, value, n);
    EXPECT_FALSE(judge(in, options, result.out, result.lse).passed) << value;
  }
}

TEST(Bound, FlushedResultsPassNearTheFloorOnly) {
  auto in = random_inputs<float>({1, 1, 1, 1, 8, 4, 1}, 6);
  for (const float value : {0x1p-124F, 0x1p-120F}) {
    for (std::int64_t j = 0; j < 8; ++j) in.v.at(0, 0, j, 0) = value;
    auto result = oracle_result(in, {});
    result.out.at(0, 0, 0, 0) = 0;  // allowed: 8 keys, each a floor of 2^-126
    EXPECT_EQ(judge(in, {}, result.out, result.lse).passed, value < 0x1p-123F);
  }
}

/// A plain implementation in T passes.
template <class T>
void expect_plain_passes(const ProblemShape& shape, Causal causal, double deviation) {
  SCOPED_TRACE(testing::Message() << shape << " causal " << int(causal) << " x " << deviation);
  auto in = random_inputs<T>(shape, 1);
  fill_normal(in.q, 99, 0, deviation);
  const Options options = aligned(causal);
  const auto plain = plain_attention<T>(in, options);
  const CheckReport report = judge(in, options, plain.out, plain.lse);
  EXPECT_TRUE(report.passed) << report.worst_units;
  EXPECT_LT(report.worst_units, 1);
}

TEST(Bound, PlainImplementationsPass) {
  for (const ProblemShape& shape : kShapes) {
    if (shape.sq * shape.skv * shape.heads() > 40000) continue;
    for (const Causal causal : {Causal::none, Causal::bottom_right}) {
      for (const double deviation : {0.01, 1.0, 30.0}) {
        expect_plain_passes<float>(shape, causal, deviation);
        expect_plain_passes<double>(shape, causal, deviation);
      }
    }
  }
}

TEST(Bound, RoundingWeightsToHalfPrecisionFails) {
  const ProblemShape shape{1, 1, 1, 40, 60, 32, 32};
  const auto in = random_inputs<float>(shape, 2);
  auto plain = plain_attention<float>(in, {});
  const auto round = [&](std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t d) {
    float o = 0;
    for (std::int64_t j = 0; j < shape.skv; ++j) {
      const float p = plain.weights.at(b, h, i, j);
      const float kept = 4096 * p;  // Veltkamp's split keeps 12 bits of p
      o += (kept - (kept - p)) * in.v.at(b, h, j, d);
    }
    plain.out.at(b, h, i, d) = o;
  };
  for_each_index(shape.out(), round);
  EXPECT_FALSE(judge(in, {}, plain.out, plain.lse).passed);
}

TEST(Bound, ASinglePrecisionResultForDoubleOutputFails) {
  const auto in = random_inputs<double>({1, 1, 1, 8, 12, 16, 16}, 3);
  const auto plain = plain_attention<float>(in, {});
  EXPECT_FALSE(judge(in, {}, plain.out, plain.lse).passed);
}

TEST(Bound, TheCoarsestTypeDecides) {
  const auto in = random_inputs<double>({1, 1, 2, 8, 12, 16, 16}, 4);
  const auto plain = plain_attention<double>(in, {});
  EXPECT_TRUE(judge(in, {}, plain.out, plain.lse).passed);
  EXPECT_TRUE(judge(in, {}, plain.out.copy<float>(), plain.lse.copy<float>()).passed);
  EXPECT_TRUE(judge(in, {}, plain.out, plain.lse.copy<float>()).passed);
  EXPECT_TRUE(judge(in, {}, plain.out.copy<float>(), plain.lse).passed);
  // Each result by its own type: an LSE of f32 digits is none of f64.
  const auto coarse = plain.lse.copy<float>().copy<double>();
  EXPECT_FALSE(judge(in, {}, plain.out.copy<float>(), coarse).passed);
  const auto single = in.copy<float>();
  const auto plain_single = plain_attention<float>(single, {});
  EXPECT_TRUE(
      judge(single, {}, plain_single.out.copy<double>(), plain_single.lse.copy<double>()).passed);
}

}  // namespace
}  // namespace regard::test

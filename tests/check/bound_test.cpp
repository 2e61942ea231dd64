// The bound's constants, and that it is neither broken by a plain implementation nor idle.
#include <algorithm>
#include <cmath>

#include "check/judged.h"

namespace regard::test {
namespace {

TEST(Bound, ConstantsFollowTheDerivation) {
  const ErrorBound f32 = error_bound(DType::f32, 64, 100);
  EXPECT_EQ(f32.epsilon, 0x1p-24);
  EXPECT_EQ(f32.c1, 2 * (8 + 4));
  EXPECT_EQ(f32.c2, 64);
  EXPECT_DOUBLE_EQ(f32.c0, 6 + 2 + 100 + 64 + 200.0 / 192);
  EXPECT_EQ(f32.floor, 0x1p-126);
  const ErrorBound f64 = error_bound(DType::f64, 256, 4096);
  EXPECT_EQ(f64.epsilon, 0x1p-53);
  EXPECT_EQ(f64.c1, 2 * (16 + 4) + 4);
  EXPECT_DOUBLE_EQ(f64.c0, 6 + 2 + 192 + 64 + 2 * 4096.0 / 192 + 4);
  EXPECT_EQ(f64.floor, 0x1p-1022);
}

TEST(Bound, HalfTypesAreNotServed) {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const ErrorBound bound = error_bound(dtype, 64, 100);
    EXPECT_EQ(bound.epsilon, 0);
    EXPECT_EQ(bound.floor, 0);
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
  const auto single = in.copy<float>();
  const auto plain_single = plain_attention<float>(single, {});
  EXPECT_TRUE(
      judge(single, {}, plain_single.out.copy<double>(), plain_single.lse.copy<double>()).passed);
}

}  // namespace
}  // namespace regard::test

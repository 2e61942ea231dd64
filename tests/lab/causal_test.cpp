// The causal lab on small problems whose answers are known, and what it refuses.
#include <cmath>
#include <limits>

#include "lab/stored.h"

namespace regard::test {
namespace {

lab::CausalInput random_lab(std::uint64_t seed, std::int64_t tokens, std::int64_t d_model,
                            std::int64_t d_head) {
  lab::CausalInput input;
  EXPECT_TRUE(lab::random_input(seed, tokens, d_model, d_head, input).ok());
  return input;
}

TEST(CausalLab, OneFeatureByHand) {
  // q = x, k = x, v = 2 x: token 1 scores 1 * 3 against itself and 3 * 1 against token 0.
  const lab::CausalInput input{{2, 1, {1, 3}}, {1, 1, {1}}, {1, 1, {1}}, {1, 1, {2}}};
  lab::CausalResult result;
  ASSERT_TRUE(lab::causal_attention(input, true, result).ok());
  const double w0 = std::exp(3.0) / (std::exp(3.0) + std::exp(9.0));
  EXPECT_EQ(result.weights.at(0, 0), 1);
  EXPECT_EQ(result.weights.at(0, 1), 0);
  EXPECT_NEAR(result.weights.at(1, 0), w0, 1e-16);
  EXPECT_NEAR(result.weights.at(1, 1), 1 - w0, 1e-15);
  EXPECT_EQ(result.out.at(0, 0), 2);
  EXPECT_NEAR(result.out.at(1, 0), 2 * w0 + 6 * (1 - w0), 1e-14);
}

TEST(CausalLab, ScaleDividesByTheRootOfTheHeadSize) {
  lab::CausalInput input = random_lab(1, 5, 8, 16);
  lab::CausalResult scaled, unscaled;
  ASSERT_TRUE(lab::causal_attention(input, true, scaled).ok());
  for (double& w : input.wq.values) w /= 4;
  ASSERT_TRUE(lab::causal_attention(input, false, unscaled).ok());
  expect_near(scaled.weights.values, unscaled.weights.values, 1e-15);
  expect_near(scaled.out.values, unscaled.out.values, 1e-14);
}

TEST(CausalLab, HugeScoresDoNotOverflow) {
  lab::CausalInput input = random_lab(2, 6, 4, 4);
  for (double& w : input.wq.values) w *= 1e6;
  lab::CausalResult result;
  ASSERT_TRUE(lab::causal_attention(input, false, result).ok());
  for (const double w : result.weights.values) EXPECT_TRUE(std::isfinite(w));
}

TEST(CausalLab, NoTokensGiveNothing) {
  lab::CausalInput input = random_lab(3, 1, 4, 4);
  input.x = {0, 4, {}};
  lab::CausalResult result;
  ASSERT_TRUE(lab::causal_attention(input, true, result).ok());
  EXPECT_EQ(result.out.rows, 0);
  EXPECT_TRUE(result.weights.values.empty());
}

TEST(CausalLab, ShapesThatDisagreeAreRefused) {
  const lab::CausalInput sound = random_lab(4, 3, 4, 5);
  lab::CausalResult result;
  ASSERT_TRUE(lab::causal_attention(sound, true, result).ok());
  const auto expect_refused = [&](const lab::CausalInput& input, const char* name) {
    const Status status = lab::causal_attention(input, true, result);
    EXPECT_EQ(status.code(), StatusCode::invalid_argument);
    EXPECT_EQ(status.message().rfind(name, 0), 0U) << status.message();
  };
  lab::CausalInput input = sound;
  input.x.values.pop_back();
  expect_refused(input, "x:");
  input = sound;
  input.wq.rows = 3;
  expect_refused(input, "wq:");
  input = sound;
  input.wk = {4, 4, std::vector<double>(16)};
  expect_refused(input, "wk:");
  input = sound;
  input.wv.cols = -5;
  expect_refused(input, "wv:");
  EXPECT_EQ(result.out.rows, 3) << "a refused call leaves the result alone";
}

TEST(CausalLab, RandomInputsFollowTheirSeed) {
  const auto a = random_lab(7, 50, 40, 30), b = random_lab(7, 50, 40, 30);
  EXPECT_EQ(a.x.values, b.x.values);
  EXPECT_EQ(a.wv.values, b.wv.values);
  EXPECT_NE(a.x.values, random_lab(8, 50, 40, 30).x.values);
  EXPECT_EQ(a.x.rows, 50);
  EXPECT_EQ(a.x.cols, 40);
  EXPECT_EQ(a.wk.rows, 40);
  EXPECT_EQ(a.wk.cols, 30);
  const auto deviation = [](const lab::Matrix& matrix) {
    double sum = 0;
    for (const double value : matrix.values) sum += value * value;
    return std::sqrt(sum / double(matrix.values.size()));
  };
  EXPECT_NEAR(deviation(a.x), 1, 0.1);
  EXPECT_NEAR(deviation(a.wq), 1 / std::sqrt(40.0), 0.02);
}

TEST(CausalLab, RandomInputsOfNoSizeAreRefused) {
  lab::CausalInput input;
  EXPECT_EQ(lab::random_input(1, 0, 4, 4, input).code(), StatusCode::invalid_argument);
  EXPECT_EQ(lab::random_input(1, 4, -1, 4, input).code(), StatusCode::invalid_argument);
  EXPECT_EQ(lab::random_input(1, 4, 4, 0, input).code(), StatusCode::invalid_argument);
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(lab::random_input(1, huge, huge, 1, input).code(), StatusCode::out_of_memory);
}

TEST(CausalLab, EntropyOfKnownRows) {
  const double sure[] = {0, 1, 0}, even[] = {0.25, 0.25, 0.25, 0.25}, none[] = {0, 0};
  EXPECT_EQ(lab::entropy(sure), 0);
  EXPECT_NEAR(lab::entropy(even), std::log(4.0), 1e-15);
  EXPECT_EQ(lab::entropy(none), 0);
}

}  // namespace
}  // namespace regard::test

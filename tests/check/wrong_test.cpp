// Results that are wrong in the ways that happen: each must fail.
#include <cmath>
#include <limits>

#include "check/judged.h"

namespace regard::test {
namespace {

constexpr ProblemShape kShape{2, 2, 2, 6, 9, 16, 8};
constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <class T>
void expect_options_matter(const Options& asked, const Options& computed) {
  const auto in = random_inputs<T>(kShape, 1);
  const auto plain = plain_attention<T>(in, computed);
  EXPECT_TRUE(judge(in, computed, plain.out, plain.lse).passed);
  const CheckReport report = judge(in, asked, plain.out, plain.lse);
  EXPECT_FALSE(report.passed);
  EXPECT_GT(report.rows_failed, 0);
  EXPECT_GT(report.worst_units, 1);
}

TEST(Wrong, Alignment) {
  expect_options_matter<float>(aligned(Causal::bottom_right), aligned(Causal::top_left));
  expect_options_matter<double>(aligned(Causal::top_left), aligned(Causal::bottom_right));
  expect_options_matter<float>(aligned(Causal::top_left), aligned(Causal::none));
}

TEST(Wrong, OffsetByOne) {
  const std::int64_t right[] = {3}, wrong[] = {4};
  Options asked = aligned(Causal::top_left), computed = asked;
  asked.q_offset = right;
  computed.q_offset = wrong;
  expect_options_matter<double>(asked, computed);
}

TEST(Wrong, MissingScale) {
  Options computed;
  computed.scale = 1;
  expect_options_matter<float>({}, computed);
}

TEST(Wrong, ScaleOffByOnePartInAMillion) {
  Options computed;
  computed.scale = 0.25 * (1 + 1e-6);  // D is 16
  expect_options_matter<double>({}, computed);
}

TEST(Wrong, GroupsInTheOtherOrder) {
  const auto in = random_inputs<float>(kShape, 2);
  const auto plain = plain_attention<float>(in, {});
  TestTensor<float> out(kShape.out()), lse(kShape.lse());
  // Query heads 1 and 2 change places: h % Hkv instead of floor(h Hkv / Hq).
  for_each_index(kShape.out(), [&](std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t d) {
    const std::int64_t from = h == 1 ? 2 : h == 2 ? 1 : h;
    out.at(b, h, i, d) = plain.out.at(b, from, i, d);
    lse.at(b, h, i, 0) = plain.lse.at(b, from, i, 0);
  });
  const CheckReport report = judge(in, {}, out, lse);
  EXPECT_EQ(report.rows_failed, 2 * 2 * 6);
}

TEST(Wrong, PlantedNaN) {
  const auto in = random_inputs<float>(kShape, 3);
  for (const float poison : {float(kInfinity), std::numeric_limits<float>::quiet_NaN()}) {
    auto plain = plain_attention<float>(in, {});
    plain.out.at(1, 2, 3, 4) = poison;
    const CheckReport report = judge(in, {}, plain.out, plain.lse);
    EXPECT_EQ(report.rows_failed, 1);
    ASSERT_FALSE(report.worst.empty());
    const RowVerdict& worst = report.worst.front();
    EXPECT_EQ(worst.b, 1);
    EXPECT_EQ(worst.h, 2);
    EXPECT_EQ(worst.i, 3);
    EXPECT_EQ(worst.d, 4);
    EXPECT_EQ(worst.error, kInfinity);
    EXPECT_EQ(worst.units, kInfinity);
    EXPECT_TRUE(std::isfinite(report.rms_error));
  }
}

TEST(Wrong, FiniteWhereTheRowIsSpoiled) {
  auto in = random_inputs<double>(kShape, 4);
  in.q.at(0, 1, 2, 3) = std::numeric_limits<double>::quiet_NaN();
  auto result = oracle_result(in, {});
  ASSERT_TRUE(judge(in, {}, result.out, result.lse).passed);
  for (std::int64_t d = 0; d < kShape.dv; ++d) result.out.at(0, 1, 2, d) = kInfinity;
  EXPECT_TRUE(judge(in, {}, result.out, result.lse).passed) << "Inf for NaN is as good";
  result.out.at(0, 1, 2, 5) = 0;
  const CheckReport report = judge(in, {}, result.out, result.lse);
  EXPECT_EQ(report.rows_failed, 1);
  EXPECT_EQ(report.worst.front().d, 5);
  EXPECT_EQ(report.worst.front().error, kInfinity);
}

TEST(Wrong, LseShifted) {
  const auto in = random_inputs<float>(kShape, 5);
  auto plain = plain_attention<float>(in, {});
  plain.lse.at(1, 1, 4, 0) += 1e-3F;
  const CheckReport report = judge(in, {}, plain.out, plain.lse);
  EXPECT_EQ(report.rows_failed, 1);
  EXPECT_EQ(report.worst.front().d, -1);
  EXPECT_EQ(report.worst.front().i, 4);
  EXPECT_NEAR(report.worst.front().error, 1e-3, 1e-5);
}

TEST(Wrong, EmptyRows) {
  const std::int64_t offset[] = {-3};
  Options options = aligned(Causal::top_left);
  options.q_offset = offset;
  const auto in = random_inputs<float>(kShape, 6);
  const auto right = plain_attention<float>(in, options);
  ASSERT_TRUE(judge(in, options, right.out, right.lse).passed);
  for (const float wrong : {0.0F, -1e30F, float(kInfinity), std::nanf("")}) {
    auto lse = right.lse;
    lse.at(0, 0, 1, 0) = wrong;
    const CheckReport report = judge(in, options, right.out, lse);
    EXPECT_EQ(report.rows_failed, 1) << "lse " << wrong;
    EXPECT_EQ(report.worst.front().d, -1);
  }
  for (const float wrong : {1e-30F, std::nanf("")}) {
    auto out = right.out;
    out.at(0, 0, 1, 2) = wrong;
    EXPECT_EQ(judge(in, options, out, right.lse).rows_failed, 1) << "out " << wrong;
  }
}

TEST(Wrong, ARowOfItsNeighbour) {
  const auto in = random_inputs<double>(kShape, 7);
  auto plain = plain_attention<double>(in, {});
  for (std::int64_t d = 0; d < kShape.dv; ++d) plain.out.at(0, 0, 2, d) = plain.out.at(0, 0, 3, d);
  const CheckReport report = judge(in, {}, plain.out, plain.lse);
  EXPECT_EQ(report.rows_failed, 1);
  EXPECT_EQ(report.worst.front().i, 2);
}

}  // namespace
}  // namespace regard::test

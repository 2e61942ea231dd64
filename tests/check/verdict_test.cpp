// What the report says: units of the bound, the worst rows, the rms error.
#include <algorithm>
#include <cmath>

#include "check/judged.h"

namespace regard::test {
namespace {

constexpr ProblemShape kShape{1, 2, 1, 5, 7, 4, 3};

/// What the bound allows at one element of out.
double allowed(const Inputs<double>& in, std::int64_t h, std::int64_t i, std::int64_t d) {
  Oracle oracle;
  OracleRow row;
  EXPECT_TRUE(oracle.prepare(in.q.view(), in.k.view(), in.v.view(), {}).ok());
  const ErrorBound bound = error_bound(DType::f64, DType::f64, kShape.d);
  EXPECT_TRUE(oracle.row(0, h, i, row, bound.score).ok());
  return out_bound(bound, row, d);
}

TEST(Verdict, ErrorsAreMeasuredInUnitsOfTheBound) {
  const auto in = random_inputs<double>(kShape, 1);
  const auto right = oracle_result(in, {});
  EXPECT_EQ(judge(in, {}, right.out, right.lse).worst_units, 0);
  for (const double units : {0.5, 3.0}) {
    auto out = right.out;
    const double bound = allowed(in, 1, 3, 2);
    out.at(0, 1, 3, 2) += units * bound;
    const CheckReport report = judge(in, {}, out, right.lse);
    EXPECT_EQ(report.passed, units < 1);
    EXPECT_EQ(report.rows_failed, units < 1 ? 0 : 1);
    ASSERT_FALSE(report.worst.empty());
    const RowVerdict& worst = report.worst.front();
    EXPECT_EQ(worst.b, 0);
    EXPECT_EQ(worst.h, 1);
    EXPECT_EQ(worst.i, 3);
    EXPECT_EQ(worst.d, 2);
    EXPECT_EQ(worst.expected, right.out.at(0, 1, 3, 2));
    EXPECT_EQ(worst.actual, out.at(0, 1, 3, 2));
    EXPECT_EQ(worst.error, std::fabs(worst.actual - worst.expected));
    EXPECT_NEAR(worst.bound, bound, 1e-12 * bound);
    EXPECT_NEAR(worst.units, units, 0.1 * units);
    EXPECT_EQ(report.worst_units, worst.units);
  }
}

TEST(Verdict, TheLseHasItsOwnBound) {
  const auto in = random_inputs<double>(kShape, 1);
  const auto right = oracle_result(in, {});
  Oracle oracle;
  OracleRow row;
  ASSERT_TRUE(oracle.prepare(in.q.view(), in.k.view(), in.v.view(), {}).ok());
  const ErrorBound bound = error_bound(DType::f64, DType::f64, kShape.d);
  ASSERT_TRUE(oracle.row(0, 0, 2, row, bound.score).ok());
  const double size = lse_bound(bound, row);
  for (const double units : {0.5, 2.0}) {
    auto lse = right.lse;
    lse.at(0, 0, 2, 0) -= units * size;
    const CheckReport report = judge(in, {}, right.out, lse);
    EXPECT_EQ(report.passed, units < 1);
    EXPECT_EQ(report.worst.front().d, -1);
    EXPECT_NEAR(report.worst.front().units, units, 0.1);
  }
}

TEST(Verdict, WorstRowsComeSortedAndCounted) {
  const auto in = random_inputs<double>(kShape, 2);
  auto result = oracle_result(in, {});
  for (std::int64_t i = 0; i < kShape.sq; ++i)
    result.out.at(0, 0, i, 1) += double(i) * std::pow(10.0, i - 9);
  for (const std::int64_t kept : {0, 1, 3, 100}) {
    CheckSettings settings;
    settings.worst_rows = kept;
    const CheckReport report = judge(in, {}, result.out, result.lse, settings);
    EXPECT_EQ(report.rows_checked, 10);
    EXPECT_EQ(report.rows_failed, 4);
    EXPECT_EQ(std::int64_t(report.worst.size()), std::min<std::int64_t>(kept, 10));
    EXPECT_TRUE(std::is_sorted(report.worst.begin(), report.worst.end(),
                               [](const auto& x, const auto& y) { return x.units > y.units; }));
    if (kept == 0) continue;
    EXPECT_EQ(report.worst.front().i, 4);
    EXPECT_EQ(report.worst.front().units, report.worst_units);
  }
}

TEST(Verdict, RmsIsOverAllElements) {
  const auto in = random_inputs<double>(kShape, 3);
  auto result = oracle_result(in, {});
  const double elements = double(element_count(kShape.out()));
  result.out.at(0, 0, 0, 0) += 0.3;
  result.out.at(0, 1, 4, 2) -= 0.4;
  EXPECT_NEAR(judge(in, {}, result.out, result.lse).rms_error, 0.5 / std::sqrt(elements), 1e-12);
}

TEST(Verdict, ResultsAreReadByTheirStrides) {
  const auto in = random_inputs<double>({2, 2, 2, 5, 7, 4, 3}, 4);
  const auto right = oracle_result(in, {});
  for (const Layout layout : kInputLayouts) {
    EXPECT_EQ(judge(in, {}, right.out.copy(layout), right.lse.copy(layout)).worst_units, 0);
  }
}

TEST(Verdict, WithoutLseOnlyOutIsJudged) {
  const auto in = random_inputs<double>(kShape, 5);
  const auto right = oracle_result(in, {});
  CheckReport report;
  ASSERT_TRUE(
      check(in.q.view(), in.k.view(), in.v.view(), {}, right.out.view(), {}, {}, report).ok());
  EXPECT_TRUE(report.passed);
  EXPECT_EQ(report.rows_checked, 10);
}

}  // namespace
}  // namespace regard::test

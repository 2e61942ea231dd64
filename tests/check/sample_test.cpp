// Which rows a check looks at, and what it tells while it runs.
#include <set>
#include <tuple>
#include <vector>

#include "check/judged.h"

namespace regard::test {
namespace {

constexpr ProblemShape kShape{2, 3, 1, 20, 4, 2, 2};  // 120 rows
using Row = std::tuple<std::int64_t, std::int64_t, std::int64_t>;

class Sampled : public testing::Test {
 protected:
  std::set<Row> rows(std::int64_t count, std::uint64_t seed) {
    CheckSettings settings;
    settings.rows = count;
    settings.seed = seed;
    settings.worst_rows = 1000;
    const CheckReport report = judge(in, {}, result.out, result.lse, settings);
    std::set<Row> found;
    for (const RowVerdict& v : report.worst) found.insert({v.b, v.h, v.i});
    EXPECT_EQ(report.rows_checked, std::int64_t(found.size())) << "a row came twice";
    return found;
  }

  Inputs<float> in = random_inputs<float>(kShape, 1);
  PlainResult<float> result = plain_attention<float>(in, {});
};

TEST_F(Sampled, ZeroAndTooManyMeanEveryRow) {
  EXPECT_EQ(rows(0, 1).size(), 120U);
  EXPECT_EQ(rows(120, 1).size(), 120U);
  EXPECT_EQ(rows(1000, 1).size(), 120U);
}

TEST_F(Sampled, TheSeedDecides) {
  for (const std::int64_t count : {1, 7, 50, 119}) {
    EXPECT_EQ(std::int64_t(rows(count, 1).size()), count);
    EXPECT_EQ(rows(count, 1), rows(count, 1));
    EXPECT_NE(rows(count, 1), rows(count, 2));
  }
}

TEST_F(Sampled, EveryHeadGetsItsShare) {
  std::set<std::pair<std::int64_t, std::int64_t>> heads;
  for (const auto& [b, h, i] : rows(6, 3)) heads.insert({b, h});
  EXPECT_EQ(heads.size(), 6U);
}

TEST_F(Sampled, EveryRowIsReached) {
  std::set<Row> reached;
  for (std::uint64_t seed = 0; seed < 200; ++seed) reached.merge(rows(7, seed));
  EXPECT_EQ(reached.size(), 120U);
}

TEST_F(Sampled, ProgressRunsFromNothingToAll) {
  std::vector<std::pair<std::int64_t, std::int64_t>> calls;
  CheckSettings settings;
  settings.rows = 30;
  settings.progress = [&](std::int64_t done, std::int64_t total) {
    calls.emplace_back(done, total);
    return true;
  };
  EXPECT_TRUE(judge(in, {}, result.out, result.lse, settings).passed);
  ASSERT_GE(calls.size(), 2U);
  EXPECT_EQ(calls.front(), std::pair(std::int64_t{0}, std::int64_t{30}));
  EXPECT_EQ(calls.back(), std::pair(std::int64_t{30}, std::int64_t{30}));
}

TEST_F(Sampled, ProgressStopsTheCheck) {
  CheckSettings settings;
  settings.progress = [](std::int64_t, std::int64_t) { return false; };
  CheckReport report;
  const Status status = check(in.q.view(), in.k.view(), in.v.view(), {}, result.out.view(),
                              result.lse.view(), settings, report);
  EXPECT_EQ(status.code(), StatusCode::cancelled);
  EXPECT_FALSE(report.passed);
}

TEST(LongCheck, ProgressIsReportedAlongALongCheck) {
  const ProblemShape shape{1, 1, 1, 600, 4000, 1, 1};
  const auto in = random_inputs<float>(shape, 1);
  TestTensor<float> out(shape.out()), lse(shape.lse());
  std::int64_t calls = 0;
  CheckSettings settings;
  settings.progress = [&](std::int64_t, std::int64_t) { return ++calls < 2; };
  CheckReport report;
  const Status status =
      check(in.q.view(), in.k.view(), in.v.view(), {}, out.view(), lse.view(), settings, report);
  EXPECT_EQ(status.code(), StatusCode::cancelled);
  EXPECT_GT(report.rows_checked, 0);
  EXPECT_LT(report.rows_checked, 600);
}

}  // namespace
}  // namespace regard::test

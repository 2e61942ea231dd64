// The oracle against the right answers of tests/cases.
#include <gtest/gtest.h>

#include <cmath>

#include "oracle/rows.h"
#include "support/cases.h"

namespace regard::test {
namespace {

/// Non-finite answers must be of the same kind; the others within a few roundings.
void expect_close(double expected, double actual, double tolerance, const char* what) {
  if (std::isnan(expected)) {
    EXPECT_FALSE(std::isfinite(actual)) << what;
  } else if (std::isinf(expected)) {
    EXPECT_EQ(actual, expected) << what;
  } else {
    EXPECT_NEAR(actual, expected, tolerance) << what;
  }
}

void compare_row(const Case& c, std::int64_t b, std::int64_t h, std::int64_t i) {
  const OracleRow row = oracle_row(c.q.view(), c.k.view(), c.v.view(), c.options(), b, h, i);
  SCOPED_TRACE(testing::Message() << c.name << " row (" << b << ", " << h << ", " << i << ")");
  for (std::int64_t d = 0; c.out && d < c.out->shape()[3]; ++d) {
    const double expected = c.out->at(b, h, i, d);
    expect_close(expected, row.out[d], 4e-16 * std::max(1.0, std::fabs(expected)), "out");
  }
  if (c.lse) {
    const double expected = c.lse->at(b, h, i, 0);
    expect_close(expected, row.lse, 4e-16 * std::max(1.0, std::fabs(expected)), "lse");
  }
  for (std::int64_t j = 0; c.weights && j < c.weights->shape()[3]; ++j) {
    // The exponent of a small weight is large, and so is its rounding.
    const double expected = c.weights->at(b, h, i, j);
    const double exponent = expected > 0 ? -std::log(expected) : 0;
    expect_close(expected, row.weights[j], 4e-16 * expected * (1 + exponent), "weights");
  }
}

TEST(OracleConformance, EveryCase) {
  const std::vector<Case> cases = load_cases();
  EXPECT_GE(cases.size(), 50U);
  for (const Case& c : cases) {
    ASSERT_TRUE(c.out || c.lse || c.weights) << c.name;
    for_each_index({c.q.shape()[0], c.q.shape()[1], c.q.shape()[2], 1},
                   [&](std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t) {
                     compare_row(c, b, h, i);
                   });
  }
}

}  // namespace
}  // namespace regard::test

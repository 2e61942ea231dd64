// One head of 65,536 rows and keys: 64 rows of everything against the oracle, masses by their sum,
// in memory that grows with the length alone.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/engine.h"
#include "regard/oracle.h"

namespace regard::test {
namespace {

constexpr std::int64_t kLength = 65536, kTop = 3;
constexpr ProblemShape kShape{1, 1, 1, kLength, kLength, 8, 8};

std::int64_t peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t(usage.ru_maxrss) * 1024;
}

struct Everything {
  TestTensor<float> out{kShape.out()}, lse{kShape.lse()}, entropy{kShape.lse()},
      top_weights{{1, 1, kLength, kTop}}, key_mass{{1, 1, 1, kLength}};
  TestTensor<std::int64_t> top_keys{{1, 1, kLength, kTop}};

  Outputs outputs() {
    return {.out = out.tensor(),
            .lse = lse.tensor(),
            .entropy = entropy.tensor(),
            .top_weights = top_weights.tensor(),
            .top_keys = top_keys.tensor(),
            .key_mass = key_mass.tensor()};
  }
};

/// The largest weights within their bounds, of keys that are as large as any up to these bounds.
void expect_top(const ErrorBound& bound, const OracleRow& row, const Everything& r,
                std::int64_t i) {
  std::vector<double> largest = row.weights;
  std::partial_sort(largest.begin(), largest.begin() + kTop, largest.end(), std::greater<>());
  for (std::int64_t n = 0; n < std::min(kTop, row.visible); ++n) {
    const std::int64_t key = r.top_keys.at(0, 0, i, n);
    ASSERT_GE(key, 0);
    const double exact = row.weights[std::size_t(key)], allowed = weight_bound(bound, row, key);
    EXPECT_NEAR(double(r.top_weights.at(0, 0, i, n)), exact, allowed);
    EXPECT_NEAR(exact, largest[std::size_t(n)], 2 * allowed);
  }
}

/// What the weights of a row may sum to beside 1.
double expect_row(const ErrorBound& bound, const OracleRow& row, const Everything& r,
                  std::int64_t i) {
  SCOPED_TRACE(i);
  for (std::int64_t d = 0; d < kShape.dv; ++d) {
    EXPECT_NEAR(double(r.out.at(0, 0, i, d)), row.out[std::size_t(d)], out_bound(bound, row, d));
  }
  EXPECT_NEAR(double(r.lse.at(0, 0, i, 0)), row.lse, lse_bound(bound, row));
  EXPECT_NEAR(double(r.entropy.at(0, 0, i, 0)), row.entropy, entropy_bound(bound, row));
  expect_top(bound, row, r, i);
  double off = 0;
  for (std::int64_t j = 0; j < kLength; ++j) off += weight_bound(bound, row, j);
  return off;
}

TEST(LongStats, OfOneHead) {
  const auto in = random_inputs<float>(kShape, 1);
  Options options;
  options.causal = Causal::bottom_right;
  Everything r;
  const Context context;
  const std::int64_t before = peak_bytes();
  Explanation explanation;
  ASSERT_TRUE(
      explain(context, in.q.view(), in.k.view(), in.v.view(), r.outputs(), options, explanation)
          .ok());
  const Status status =
      forward(context, in.q.view(), in.k.view(), in.v.view(), r.outputs(), options);
  ASSERT_TRUE(status.ok()) << status.message();
  // The outputs are there already. A megabyte a thread for its stack; all weights are 16 GiB.
  const std::int64_t grown = peak_bytes() - before;
  EXPECT_LE(grown, explanation.scratch_bytes + (std::int64_t{explanation.threads} << 20));
  EXPECT_LE(explanation.scratch_bytes, 64 * kLength * std::int64_t{explanation.threads});
  RecordProperty("scratch_bytes", std::to_string(explanation.scratch_bytes));
  RecordProperty("grown_bytes", std::to_string(grown));

  Oracle oracle;
  ASSERT_TRUE(oracle.prepare(in.q.view(), in.k.view(), in.v.view(), options).ok());
  const ErrorBound bound = error_bound(DType::f32, DType::f32, kShape.d, options);
  OracleRow row;
  double off = 0;
  for (std::int64_t n = 0; n < 64; ++n) {
    const std::int64_t i = n == 0 ? 0 : n * 1040 + 15;  // up to the last row
    ASSERT_TRUE(oracle.row(0, 0, i, row, bound.score).ok());
    off = std::max(off, expect_row(bound, row, r, i));
  }
  double mass = 0;
  for (std::int64_t j = 0; j < kLength; ++j) mass += double(r.key_mass.at(0, 0, 0, j));
  // Each row is off by what the worst of those may be; each mass is rounded once.
  EXPECT_NEAR(mass, double(kLength), double(kLength) * (off + 0x1p-24));
}

}  // namespace
}  // namespace regard::test

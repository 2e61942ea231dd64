// The C++ of docs/reference.md, line by line: tests/cli/reference_test.py compares the two.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>

#include "regard/attention.h"
#include "regard/kv_report.h"
#include "regard/merge.h"

namespace regard::test {
namespace {

/// The example of the page: scores ln 1, ln 2, ln 3 in every row, values 6, 12, 18.
class Reference : public testing::Test {
 protected:
  static constexpr Shape kShape{1, 1, 3, 1};

  /// Rows and keys from `first` on.
  ConstTensor part(const std::array<double, 3>& numbers, std::int64_t first, std::int64_t count) {
    return view(numbers.data() + first, {1, 1, count, 1});
  }
  void expect_near(std::array<double, 3> expected, const std::array<double, 3>& actual) {
    for (std::size_t n = 0; n < 3; ++n) EXPECT_NEAR(expected[n], actual[n], 1e-14 * expected[n]);
  }

  const std::array<double, 3> ones = {1, 1, 1};
  const std::array<double, 3> logarithms = {0, std::log(2.0), std::log(3.0)};
  const std::array<double, 3> values = {6, 12, 18};
  const ConstTensor q = view(ones.data(), kShape);
  const ConstTensor k = view(logarithms.data(), kShape);
  const ConstTensor v = view(values.data(), kShape);
  std::array<double, 3> results{}, sums{};
  const Context context;
  Options options;
  Outputs outputs;
  Status status;
};

TEST_F(Reference, PackedSequences) {
  outputs.out = view(results.data(), kShape);
  const std::int64_t q_starts[] = {0, 2, 3}, kv_starts[] = {0, 2, 3};
  status = regard::forward_varlen(context, q, k, v, {q_starts, kv_starts}, outputs, options);
  // out is 10, 10, 18
  ASSERT_TRUE(status.ok()) << status.message();
  expect_near({10, 10, 18}, results);
}

TEST_F(Reference, PartsOfTheKeys) {
  std::array<double, 3> outs[2], lses[2];
  for (const std::int64_t n : {0, 1}) {
    const std::int64_t first = 2 * n, count = 2 - n;
    outputs.out = view(outs[n].data(), kShape);
    outputs.lse = view(lses[n].data(), kShape);
    status = forward(context, q, part(logarithms, first, count), part(values, first, count),
                     outputs, options);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  expect_near({10, 10, 10}, outs[0]);
  expect_near({18, 18, 18}, outs[1]);
  for (const auto& numbers : lses)
    expect_near({std::log(3.0), std::log(3.0), std::log(3.0)}, numbers);
  const ConstTensor first_out = view(outs[0].data(), kShape);
  const ConstTensor first_lse = view(lses[0].data(), kShape);
  const ConstTensor second_out = view(outs[1].data(), kShape);
  const ConstTensor second_lse = view(lses[1].data(), kShape);
  const Tensor out = view(results.data(), kShape), lse = view(sums.data(), kShape);
  const regard::Part parts[] = {{first_out, first_lse}, {second_out, second_lse}};
  status = regard::merge(parts, {}, out, lse);
  // out is 14, lse ln 6
  ASSERT_TRUE(status.ok()) << status.message();
  expect_near({14, 14, 14}, results);
  expect_near({std::log(6.0), std::log(6.0), std::log(6.0)}, sums);
}

TEST_F(Reference, WhatStoringCosts) {
  regard::KvReport report;
  const regard::KvTypes types{regard::KvType::fp8_e4m3, regard::KvType::fp8_e4m3};
  status = regard::report_kv(q, k, v, types, options, {}, report);
  // each row has a logit_shift of 0.0264 at key 2, and an out_error of 0.0040
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(report.rows.size(), 3U);
  const double p[] = {1, std::exp(0.6875), std::exp(1.125)};
  const double out = (6 * p[0] + 12 * p[1] + 18 * p[2]) / (p[0] + p[1] + p[2]);
  for (const KvRowReport& row : report.rows) {
    EXPECT_NEAR(row.logit_shift, 1.125 - std::log(3.0), 1e-15);
    EXPECT_NEAR(row.logit_shift, 0.0264, 5e-5);
    EXPECT_EQ(row.logit_key, 2);
    EXPECT_NEAR(row.out_error, std::fabs(out - 14) / 14, 1e-15);
    EXPECT_NEAR(row.out_error, 0.0040, 5e-5);
  }
}

TEST_F(Reference, ScratchOfTheCaller) {
  outputs.out = view(results.data(), kShape);
  regard::Explanation explanation;
  status = regard::explain(context, q, k, v, outputs, options, explanation);
  const auto bytes = static_cast<std::size_t>(explanation.scratch_bytes);
  options.scratch = {static_cast<std::byte*>(std::aligned_alloc(64, bytes)), bytes};
  status = regard::forward(context, q, k, v, outputs, options);
  std::free(options.scratch.data());
  ASSERT_TRUE(status.ok()) << status.message();
  expect_near({14, 14, 14}, results);
}

}  // namespace
}  // namespace regard::test

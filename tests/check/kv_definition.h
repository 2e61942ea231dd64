// What a report about a cache should say, by plain loops in long double over both numbers.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "cache/definition.h"
#include "regard/kv_report.h"
#include "support/loops.h"

namespace regard::test {

/// The numbers that a cache of this type holds, row by row.
inline TestTensor<double> stored_numbers(KvType type, const TestTensor<double>& numbers) {
  TestTensor<double> result(numbers.shape());
  const Shape shape = numbers.shape();
  const std::int64_t columns = shape[3];
  for_each_index({shape[0], shape[1], shape[2], 1}, [&](auto b, auto h, auto s, auto) {
    std::vector<double> row;
    for (std::int64_t d = 0; d < columns; ++d) row.push_back(numbers.at(b, h, s, d));
    row = stored_row(type, row);
    for (std::int64_t d = 0; d < columns; ++d) result.at(b, h, s, d) = row[std::size_t(d)];
  });
  return result;
}

/// Both sides of a question.
struct Sides {
  const Inputs<double>& exact;
  const Inputs<double>& stored;
  const Loops<long double>& loops;
  LoopResult<double> exact_result = run_loops(loops, exact);
  LoopResult<double> stored_result = run_loops(loops, stored);

  long double logit(const Inputs<double>& in, LoopRow r, std::int64_t j) const {
    const std::int64_t kv = loops.kv_head(r.h), d = in.q.shape()[3];
    using Wide = long double;
    Wide dot = 0;
    for (std::int64_t c = 0; c < d; ++c)
      dot += Wide(in.q.at(r.b, r.h, r.i, c)) * Wide(in.k.at(r.b, kv, j, c));
    return loops.capped(loops.options.scale.value_or(1 / std::sqrt(double(d))) * dot);
  }
};

/// How far loops and oracle may be apart, relatively, for scores of size 20: see the oracle's
/// tests.
inline constexpr double kAgreement = 64 * 0x1p-53;

/// Norm of sum_j p_j |v_j|, to which roundings of out are relative.
inline double out_size(const Sides& sides, LoopRow r) {
  double squares = 0;
  for (std::int64_t d = 0; d < sides.exact.v.shape()[3]; ++d) {
    double sum = 0;
    for (std::int64_t j = 0; j < sides.loops.skv; ++j) {
      const double p = sides.exact_result.weights.at(r.b, r.h, r.i, j);
      if (p > 0) sum += p * std::fabs(sides.exact.v.at(r.b, sides.loops.kv_head(r.h), j, d));
    }
    squares += sum * sum;
  }
  return std::sqrt(squares);
}

inline void expect_out(const Sides& sides, LoopRow r, const KvRowReport& row) {
  double error = 0, size = 0;
  for (std::int64_t d = 0; d < sides.exact.v.shape()[3]; ++d) {
    const double exact = sides.exact_result.out.at(r.b, r.h, r.i, d);
    const double stored = sides.stored_result.out.at(r.b, r.h, r.i, d);
    error += (stored - exact) * (stored - exact);
    size += exact * exact;
  }
  const double expected = error == 0 ? 0 : std::sqrt(error / size);
  // Both outputs may be off, and the norm that divides.
  const double rounding = 8 * kAgreement * out_size(sides, r) / std::sqrt(size);
  EXPECT_NEAR(row.out_error, expected, size == 0 ? 0 : rounding * (1 + expected));
}

inline void expect_weights(const Sides& sides, LoopRow r, const KvRowReport& row) {
  double shift = 0, size = 0, moved = 0, entropy = 0, kept = 0;
  std::int64_t visible = 0;
  for (std::int64_t j = 0; j < sides.loops.skv; ++j) {
    if (!sides.loops.exists(r) || !sides.loops.sees(r, j)) continue;
    ++visible;
    const auto exact = sides.logit(sides.exact, r, j), stored = sides.logit(sides.stored, r, j);
    shift = std::max(shift, double(std::fabs(stored - exact)));
    size = std::max(size, double(std::fabs(exact)));
    if (j == row.logit_key) {
      EXPECT_NEAR(double(std::fabs(stored - exact)), row.logit_shift, kAgreement * (1 + size));
    }
    const double p = sides.exact_result.weights.at(r.b, r.h, r.i, j);
    const double p2 = sides.stored_result.weights.at(r.b, r.h, r.i, j);
    moved += std::fabs(p2 - p);
    kept += p2 - p;
    entropy += (p > 0 ? p * std::log(p) : 0) - (p2 > 0 ? p2 * std::log(p2) : 0);
  }
  EXPECT_EQ(row.visible, visible);
  EXPECT_EQ(row.logit_key == -1, visible == 0);
  EXPECT_NEAR(row.logit_shift, shift, kAgreement * (1 + size));
  EXPECT_NEAR(row.weight_moved, (moved + std::fabs(kept)) / 2, 2 * kAgreement);
  EXPECT_NEAR(row.entropy_change, entropy, 8 * kAgreement);
  EXPECT_LE(row.weight_moved, std::tanh(row.logit_shift / 2) + kAgreement);
}

/// The place and the numbers of each row, in the order of (B, Hq, Sq).
inline void expect_defined(const Sides& sides, const KvReport& report) {
  const auto [batch, heads, sq, d] = sides.exact.q.shape();
  ASSERT_EQ(std::int64_t(report.rows.size()), batch * heads * sq);
  std::size_t n = 0;
  for_each_index({batch, heads, sq, 1}, [&](auto b, auto h, auto i, auto) {
    SCOPED_TRACE(testing::Message() << "row " << b << ' ' << h << ' ' << i);
    const KvRowReport& row = report.rows[n++];
    ASSERT_TRUE(row.b == b && row.h == h && row.i == i);
    expect_out(sides, {b, h, i}, row);
    expect_weights(sides, {b, h, i}, row);
  });
}

}  // namespace regard::test

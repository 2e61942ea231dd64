// Two calls that should give the same answers, each held to its own bound; and the ways to change
// a tensor that lead from one to the other.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <vector>

#include "kernels/full_call.h"
#include "regard/oracle.h"

namespace regard::test {

/// One call: its results and, row by row, their bounds.
template <class T>
class Side {
 public:
  Side(const Inputs<T>& in, const Options& options)
      : result(run_full(in, options)),
        bound_(error_bound(DTypeOf<T>::value, DTypeOf<T>::value, in.q.shape()[3], options)) {
    EXPECT_TRUE(oracle_.prepare(in.q.view(), in.k.view(), in.v.view(), options).ok());
  }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  /// The exact row, which the bounds below then are about.
  const OracleRow& look(const Row& r) {
    EXPECT_TRUE(oracle_.row(r.b, r.h, r.i, row_, bound_.score).ok());
    return row_;
  }
  double out_error(std::int64_t d) const { return out_bound(bound_, row_, d); }
  double lse_error() const { return std::isinf(row_.lse) ? 0 : lse_bound(bound_, row_); }
  double entropy_error() const { return entropy_bound(bound_, row_); }
  double weight_error(std::int64_t j) const { return weight_bound(bound_, row_, j); }

  FullResult<T> result;

 private:
  ErrorBound bound_;
  Oracle oracle_;
  OracleRow row_;
};

/// How the right side's question differs from the left one's.
struct Apart {
  double scores = 0;        ///< every score by so much, either way: inputs rounded apart
  double lse = 0;           ///< the LSE is exactly so much larger
  bool sums_alone = false;  ///< only out and lse have to agree
  std::vector<std::int64_t> keys = {};  ///< the right's key for each of the left's; empty: the same
};

/// Scores apart by e make weights apart by factors within e^2e.
template <class T>
void expect_same_row(Side<T>& a, Side<T>& b, const Row& r, const Apart& apart) {
  const auto at = [&r](const auto& tensor, std::int64_t d) {
    return double(tensor.at(r.b, r.h, r.i, d));
  };
  const double factor = std::expm1(2 * apart.scores);
  const OracleRow exact = a.look(r);
  b.look(r);
  for (std::int64_t d = 0; d < a.result.out.shape()[3]; ++d) {
    ASSERT_NEAR(at(a.result.out, d), at(b.result.out, d),
                a.out_error(d) + b.out_error(d) + factor * exact.out_magnitude[std::size_t(d)]);
  }
  const double lse = at(a.result.lse, 0) + apart.lse, other_lse = at(b.result.lse, 0);
  if (lse != other_lse) {  // they may be infinite
    ASSERT_NEAR(lse, other_lse,
                a.lse_error() + b.lse_error() + apart.scores + 0x1p-52 * std::fabs(lse));
  }
  if (apart.sums_alone) return;
  ASSERT_NEAR(at(a.result.entropy, 0), at(b.result.entropy, 0),
              a.entropy_error() + b.entropy_error() + factor * (2 + exact.entropy));
  for (std::int64_t j = 0; j < a.result.weights.shape()[3]; ++j) {
    const std::int64_t other = apart.keys.empty() ? j : apart.keys[std::size_t(j)];
    const double p = at(a.result.weights, j);
    ASSERT_NEAR(p, at(b.result.weights, other),
                a.weight_error(j) + b.weight_error(other) + factor * p)
        << "key " << j;
  }
}

template <class T>
void expect_same_answers(Side<T>& a, Side<T>& b, const Apart& apart = {}) {
  for_each_index(a.result.lse.shape(), [&](auto batch, auto h, auto i, auto) {
    SCOPED_TRACE(testing::Message() << "b=" << batch << " h=" << h << " i=" << i);
    expect_same_row(a, b, {batch, h, i}, apart);
  });
}

/// Rounded to multiples of 2^-bits, so that small sums and products of such numbers are exact.
template <class T>
void round_all(TestTensor<T>& tensor, int bits) {
  for_each_index(tensor.shape(), [&](auto b, auto h, auto s, auto d) {
    T& x = tensor.at(b, h, s, d);
    x = std::ldexp(std::nearbyint(std::ldexp(x, bits)), -bits);
  });
}

/// Adds to every number.
template <class T>
void shift_all(TestTensor<T>& tensor, double by) {
  for_each_index(tensor.shape(),
                 [&](auto b, auto h, auto s, auto d) { tensor.at(b, h, s, d) += T(by); });
}

/// The places of one axis in another order, or some of them more than once.
template <class T>
TestTensor<T> reordered(const TestTensor<T>& from, std::size_t axis,
                        const std::vector<std::int64_t>& order) {
  Shape shape = from.shape();
  shape[axis] = std::int64_t(order.size());
  TestTensor<T> result(shape);
  for_each_index(shape, [&](auto b, auto h, auto s, auto d) {
    Shape at{b, h, s, d};
    at[axis] = order[std::size_t(at[axis])];
    result.at(b, h, s, d) = from.at(at[0], at[1], at[2], at[3]);
  });
  return result;
}

inline std::vector<std::int64_t> in_order(std::int64_t count) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

}  // namespace regard::test

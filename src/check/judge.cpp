#include "check/judge.h"

#include <cmath>
#include <limits>
#include <utility>

#include "base/read.h"

namespace regard::judging {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Compared {
  std::int64_t d = 0;
  double expected = 0;
  double actual = 0;
  double bound = 0;
  double limit = 0;  ///< from here on the result's type has only infinity
};

/// A spoiled value may be any that is not finite, but an LSE that is infinite must be that
/// infinity. Past the limit of the result's type infinity is the right answer.
double error_of(const Compared& c) {
  if (std::isfinite(c.expected) && std::isfinite(c.actual)) return std::fabs(c.actual - c.expected);
  bool agree = !std::isfinite(c.expected) && !std::isfinite(c.actual);
  if (c.d == -1 && std::isinf(c.expected)) agree = c.actual == c.expected;
  if (std::isfinite(c.expected) && std::isinf(c.actual)) {
    agree = std::fabs(c.expected) + c.bound >= c.limit && c.actual * c.expected > 0;
  }
  return agree ? 0 : kInfinity;
}

/// Keeps a value in `worst` where it is the largest so far in units of its bound.
double compare(const Compared& c, RowVerdict& worst) {
  const double error = error_of(c);
  // A bound that overflows says nothing, so nothing passes by it.
  const bool sound = std::isfinite(c.bound);
  const double units = error == 0 ? 0 : sound && error != kInfinity ? error / c.bound : kInfinity;
  if (units > worst.units) {
    worst.d = c.d;
    worst.expected = c.expected;
    worst.actual = c.actual;
    worst.error = error;
    worst.bound = c.bound;
    worst.units = units;
  }
  return error;
}

}  // namespace

Status Judge::prepare(const Setting& setting) {
  setting_ = setting;
  squares_ = 0;
  finite_ = 0;
  const std::int64_t head_dim = setting.q.shape[3];
  out_bound_ = error_bound(setting.q.dtype, setting.out.dtype, head_dim, setting.options);
  lse_bound_ = error_bound(setting.q.dtype, setting.lse.dtype, head_dim, setting.options);
  return oracle_.prepare(setting.q, setting.k, setting.v, setting.options, setting.deviation);
}

Status Judge::judge(std::int64_t b, std::int64_t h, std::int64_t i, RowVerdict& worst) {
  worst = {.b = b, .h = h, .i = i, .units = -1};
  if (setting_.exchanged) std::swap(h, i);
  Status status = oracle_.row(b, h, i, row_, out_bound_.score);
  if (!status.ok()) return status;
  for (std::int64_t d = 0; d < std::int64_t(row_.out.size()); ++d) {
    const double expected = row_.out[std::size_t(d)];
    const double actual = base::read_float(setting_.out, {b, h, i, d});
    const double error = compare(
        {d, expected, actual, out_bound(out_bound_, row_, d), out_bound_.result_limit}, worst);
    if (std::isfinite(error) && std::isfinite(expected) && std::isfinite(actual)) {
      squares_ += error * error;
      ++finite_;
    }
  }
  return setting_.lse.data == nullptr ? Status() : judge_lse(b, h, i, worst);
}

Status Judge::judge_lse(std::int64_t b, std::int64_t h, std::int64_t i, RowVerdict& worst) {
  // The sums over x_j are those of one arithmetic: out's may be another.
  if (lse_bound_.unit == out_bound_.unit) {
    lse_row_ = row_;
  } else if (Status status = oracle_.row(b, h, i, lse_row_, lse_bound_.score); !status.ok()) {
    return status;
  }
  const Deviation::Empty empty = setting_.deviation.empty;
  const bool anything = empty == Deviation::Empty::mean || empty == Deviation::Empty::spoiled;
  if (anything && std::isnan(lse_row_.lse)) return {};
  compare({-1, lse_row_.lse, base::read_float(setting_.lse, {b, h, i, 0}),
           lse_bound(lse_bound_, lse_row_), lse_bound_.result_limit},
          worst);
  return {};
}

double Judge::allowed(std::int64_t d) const {
  const double expected = d < 0 ? lse_row_.lse : row_.out[std::size_t(d)];
  if (!std::isfinite(expected)) return 0;
  return d < 0 ? lse_bound(lse_bound_, lse_row_) : out_bound(out_bound_, row_, d);
}

double Judge::rms_error() const {
  return finite_ == 0 ? 0 : std::sqrt(squares_ / double(finite_));
}

}  // namespace regard::judging

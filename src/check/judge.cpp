#include "check/judge.h"

#include <cmath>
#include <limits>
#include <utility>

#include "base/read.h"

namespace regard::judging {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

using What = RowVerdict::What;

struct Compared {
  What what = What::out;
  std::int64_t d = 0;
  double expected = 0;
  double actual = 0;
  double bound = 0;
  double limit = 0;  ///< from here on the result's type has only infinity
};

/// A spoiled value may be any that is not finite, but an LSE or a score that is infinite must be
/// that infinity. Past the limit of the result's type infinity is the right answer.
double error_of(const Compared& c) {
  if (std::isfinite(c.expected) && std::isfinite(c.actual)) return std::fabs(c.actual - c.expected);
  bool agree = !std::isfinite(c.expected) && !std::isfinite(c.actual);
  if (c.what != What::out && std::isinf(c.expected)) agree = c.actual == c.expected;
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
    worst.what = c.what;
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
  const auto bound_of = [&](const ConstTensor& result) {
    return error_bound(setting.q.dtype, result.dtype, setting.q.shape[3], setting.options);
  };
  out_bound_ = bound_of(setting.out);
  lse_bound_ = bound_of(setting.lse);
  weights_bound_ = bound_of(setting.weights);
  return oracle_.prepare(setting.q, setting.k, setting.v, setting.options, setting.deviation);
}

Status Judge::judge(std::int64_t b, std::int64_t h, std::int64_t i, RowVerdict& worst) {
  worst = {.b = b, .h = h, .i = i, .units = -1};
  if (setting_.exchanged) std::swap(h, i);
  Status status = oracle_.row(b, h, i, row_, out_bound_.score);
  // An LSE or weights in f32 beside an f64 output are results of another arithmetic, and f64 ones
  // beside a half output.
  const std::pair<const ConstTensor*, const ErrorBound*> others[] = {
      {&setting_.lse, &lse_bound_}, {&setting_.weights, &weights_bound_}};
  for (const auto& [result, bound] : others) {
    if (!status.ok() || result->data == nullptr || bound->unit == out_bound_.unit) continue;
    status = oracle_.row(b, h, i, other_row_, bound->score);
    break;
  }
  if (!status.ok()) return status;
  for (std::int64_t d = 0; d < std::int64_t(row_.out.size()); ++d) {
    const double expected = row_.out[std::size_t(d)];
    const double actual = base::read_float(setting_.out, {b, h, i, d});
    const double error = compare(
        {What::out, d, expected, actual, out_bound(out_bound_, row_, d), out_bound_.result_limit},
        worst);
    if (std::isfinite(error) && std::isfinite(expected) && std::isfinite(actual)) {
      squares_ += error * error;
      ++finite_;
    }
  }
  if (setting_.lse.data != nullptr) judge_lse({b, h, i, 0}, worst);
  if (setting_.weights.data != nullptr) judge_weights({b, h, i, 0}, worst);
  return {};
}

const OracleRow& Judge::row_of(const ErrorBound& bound) const {
  return bound.unit == out_bound_.unit ? row_ : other_row_;
}

void Judge::judge_lse(const Shape& at, RowVerdict& worst) const {
  const Deviation::Empty empty = setting_.deviation.empty;
  const bool anything = empty == Deviation::Empty::mean || empty == Deviation::Empty::spoiled;
  if (anything && std::isnan(row_.lse)) return;
  compare({What::lse, -1, row_.lse, base::read_float(setting_.lse, at),
           lse_bound(lse_bound_, row_of(lse_bound_)), lse_bound_.result_limit},
          worst);
}

/// Every place where the row stands among the rows asked for.
void Judge::judge_weights(const Shape& at, RowVerdict& worst) const {
  const auto& rows = setting_.options.rows;
  const std::int64_t count = setting_.weights.shape[2], keys = setting_.weights.shape[3];
  for (std::int64_t r = 0; r < count; ++r) {
    if ((rows.empty() ? r : rows[std::size_t(r)]) != at[2]) continue;
    for (std::int64_t j = 0; j < keys; ++j) {
      compare({What::weights, j, expected_weight(j),
               base::read_float(setting_.weights, {at[0], at[1], r, j}), weights_allowed(j),
               weights_bound_.result_limit},
              worst);
    }
  }
}

double Judge::expected_weight(std::int64_t j) const {
  const bool weights = setting_.options.weights_stage == Stage::softmax;
  return (weights ? row_.weights : row_.scores)[std::size_t(j)];
}

double Judge::weights_allowed(std::int64_t j) const {
  const bool weights = setting_.options.weights_stage == Stage::softmax;
  const OracleRow& row = row_of(weights_bound_);
  return weights ? weight_bound(weights_bound_, row, j) : score_bound(weights_bound_, row, j);
}

double Judge::allowed(const RowVerdict& verdict) const {
  const auto d = std::size_t(verdict.d);
  switch (verdict.what) {
    case What::lse:
      return std::isfinite(row_.lse) ? lse_bound(lse_bound_, row_of(lse_bound_)) : 0;
    case What::weights:
      if (setting_.weights.data == nullptr) return kInfinity;  // not judged: nothing is told there
      return std::isfinite(expected_weight(verdict.d)) ? weights_allowed(verdict.d) : 0;
    case What::out:
      break;
  }
  return std::isfinite(row_.out[d]) ? out_bound(out_bound_, row_, verdict.d) : 0;
}

double Judge::rms_error() const {
  return finite_ == 0 ? 0 : std::sqrt(squares_ / double(finite_));
}

}  // namespace regard::judging

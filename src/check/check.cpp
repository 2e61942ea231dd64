#include "regard/check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <utility>

#include "base/guard.h"
#include "base/status_text.h"
#include "problem/problem.h"

namespace regard {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Keys visited between two calls of the progress hook: some tenths of a second at D = 128.
constexpr std::int64_t kKeysBetweenReports = std::int64_t{1} << 20;

double element(const ConstTensor& tensor, std::int64_t b, std::int64_t h, std::int64_t i,
               std::int64_t d) {
  const auto& stride = tensor.strides;
  const std::int64_t offset = b * stride[0] + h * stride[1] + i * stride[2] + d * stride[3];
  if (tensor.dtype == DType::f64) return static_cast<const double*>(tensor.data)[offset];
  return double(static_cast<const float*>(tensor.data)[offset]);
}

/// Rows of (B, Hq, Sq) counted in this order. A sample takes one row from each of equal stretches,
/// so no row comes twice and every batch entry and head gets its share.
class Sample {
 public:
  Sample(std::int64_t total, std::int64_t wanted, std::uint64_t seed)
      : total_(total), count_(wanted == 0 ? total : std::min(wanted, total)), engine_(seed) {}

  std::int64_t count() const { return count_; }

  /// Row of stretch n; ask for n = 0, 1, ... in order.
  std::int64_t pick(std::int64_t n) {
    const std::int64_t length = total_ / count_, longer = total_ % count_;
    const std::int64_t start = n * length + std::min(n, longer);
    std::uniform_int_distribution<std::int64_t> within(0, length - (n < longer ? 0 : 1));
    return start + within(engine_);
  }

 private:
  std::int64_t total_, count_;
  std::mt19937_64 engine_;
};

DType coarser(DType a, DType b) {
  return a == DType::f32 || b == DType::f32 ? DType::f32 : a;
}

/// Judges rows of one result.
class Judge {
 public:
  Judge(const Oracle& oracle, DType inputs, std::int64_t head_dim, const ConstTensor& out,
        const ConstTensor& lse)
      : oracle_(oracle), inputs_(inputs), head_dim_(head_dim), out_(out), lse_(lse) {}

  Status judge(std::int64_t b, std::int64_t h, std::int64_t i, RowVerdict& worst) {
    if (Status status = oracle_.row(b, h, i, row_); !status.ok()) return status;
    worst = {.b = b, .h = h, .i = i, .units = -1};
    const ErrorBound bound = bound_for(out_);
    const double relative = relative_error(bound, row_);
    for (std::int64_t d = 0; d < std::int64_t(row_.out.size()); ++d) {
      const double error = compare(d, row_.out[d], element(out_, b, h, i, d),
                                   relative * row_.out_magnitude[d] +
                                       bound.floor * (double(row_.visible) + row_.value_sum[d]),
                                   worst);
      if (std::isfinite(error) && std::isfinite(row_.out[d])) {
        squares_ += error * error;
        ++finite_;
      }
    }
    if (lse_.data != nullptr) {
      compare(-1, row_.lse, element(lse_, b, h, i, 0), lse_bound(), worst);
    }
    return {};
  }

  double rms_error() const { return finite_ == 0 ? 0 : std::sqrt(squares_ / double(finite_)); }

 private:
  ErrorBound bound_for(const ConstTensor& result) const {
    return error_bound(coarser(inputs_, result.dtype), head_dim_, row_.visible);
  }

  double lse_bound() const {
    const ErrorBound bound = bound_for(lse_);
    return relative_error(bound, row_) / 2 + bound.epsilon * std::fabs(row_.lse);
  }

  /// Error of one value; keeps it in `worst` where it is the largest so far in units of its bound.
  /// A spoiled value may be any that is not finite; the LSE of an empty row must be -inf itself.
  static double compare(std::int64_t d, double expected, double actual, double bound,
                        RowVerdict& worst) {
    double error = std::fabs(actual - expected);
    if (!std::isfinite(expected) || !std::isfinite(actual)) {
      const bool agree = expected == -kInfinity
                             ? actual == expected
                             : !std::isfinite(expected) && !std::isfinite(actual);
      error = agree ? 0 : kInfinity;
    }
    // A bound that overflows says nothing, so nothing passes by it.
    const bool sound = std::isfinite(bound);
    const double units = error == 0 ? 0 : sound && error != kInfinity ? error / bound : kInfinity;
    if (units > worst.units) {
      worst.d = d;
      worst.expected = expected;
      worst.actual = actual;
      worst.error = error;
      worst.bound = bound;
      worst.units = units;
    }
    return error;
  }

  const Oracle& oracle_;
  DType inputs_;
  std::int64_t head_dim_;
  const ConstTensor& out_;
  const ConstTensor& lse_;
  OracleRow row_;
  double squares_ = 0;
  std::int64_t finite_ = 0;
};

void enter(const RowVerdict& verdict, std::int64_t worst_rows, CheckReport& report) {
  ++report.rows_checked;
  if (verdict.units > 1) ++report.rows_failed;
  report.worst_units = std::max(report.worst_units, verdict.units);
  const auto place =
      std::upper_bound(report.worst.begin(), report.worst.end(), verdict,
                       [](const auto& x, const auto& y) { return x.units > y.units; });
  report.worst.insert(place, verdict);
  if (std::int64_t(report.worst.size()) > worst_rows) report.worst.pop_back();
}

Status require_sound(const Shape& out_shape, const ConstTensor& out, const ConstTensor& lse,
                     const CheckSettings& settings) {
  if (Status status = problem::check_result("out", out, out_shape); !status.ok()) return status;
  if (lse.data != nullptr) {
    const Shape lse_shape{out_shape[0], out_shape[1], out_shape[2], 1};
    if (Status status = problem::check_result("lse", lse, lse_shape); !status.ok()) return status;
  }
  const std::pair<const char*, std::int64_t> counts[] = {{"rows", settings.rows},
                                                         {"worst_rows", settings.worst_rows}};
  for (const auto& [name, count] : counts) {
    if (count < 0)
      return base::invalid(std::string(name) + ": " + std::to_string(count) + " is below 0");
  }
  return {};
}

Status judge_rows(const Shape& out_shape, std::int64_t keys, const CheckSettings& settings,
                  Judge& judge, CheckReport& report) {
  const std::int64_t heads = out_shape[1], rows = out_shape[2];
  Sample sample(out_shape[0] * heads * rows, settings.rows, settings.seed);
  const auto report_progress = [&](std::int64_t done) -> Status {
    if (!settings.progress || settings.progress(done, sample.count())) return {};
    return {StatusCode::cancelled, "the check was stopped by its progress hook"};
  };
  const std::int64_t interval = std::max<std::int64_t>(1, kKeysBetweenReports / (keys + 1));
  for (std::int64_t n = 0; n < sample.count(); ++n) {
    if (n % interval == 0) {
      if (Status status = report_progress(n); !status.ok()) return status;
    }
    const std::int64_t index = sample.pick(n);
    const std::int64_t head = index / rows;
    RowVerdict verdict;
    Status status = judge.judge(head / heads, head % heads, index % rows, verdict);
    if (!status.ok()) return status;
    enter(verdict, settings.worst_rows, report);
  }
  return report_progress(sample.count());
}

}  // namespace

Status check(const ConstTensor& q, const ConstTensor& k, const ConstTensor& v,
             const Options& options, const ConstTensor& out, const ConstTensor& lse,
             const CheckSettings& settings, CheckReport& report) noexcept {
  return base::guarded([&]() -> Status {
    Oracle oracle;
    if (Status status = oracle.prepare(q, k, v, options); !status.ok()) return status;
    const Shape& shape = oracle.out_shape();
    if (Status status = require_sound(shape, out, lse, settings); !status.ok()) return status;

    report = {};
    Judge judge(oracle, q.dtype, q.shape[3], out, lse);
    Status status = judge_rows(shape, k.shape[2], settings, judge, report);
    if (!status.ok()) return status;
    report.rms_error = judge.rms_error();
    report.passed = report.rows_failed == 0;
    return {};
  });
}

}  // namespace regard

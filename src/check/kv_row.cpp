#include "check/kv_row.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace regard::judging {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

bool all_finite(const std::vector<double>& x) {
  return std::ranges::all_of(x, [](double element) { return std::isfinite(element); });
}

/// Numbers relative to the largest, so that no square leaves f64.
double norm(const std::vector<double>& x) {
  double largest = 0, sum = 0;
  for (const double element : x) largest = std::max(largest, std::fabs(element));
  if (largest == 0) return 0;
  for (const double element : x) sum += (element / largest) * (element / largest);
  return largest * std::sqrt(sum);
}

/// What is not a number comes of a side that is not finite.
double finite_or_infinite(double x) {
  return std::isnan(x) ? kInfinity : x;
}

double out_error(const std::vector<double>& exact, const std::vector<double>& stored) {
  if (!all_finite(stored)) return kInfinity;
  std::vector<double> difference(exact.size());
  for (std::size_t d = 0; d < exact.size(); ++d) difference[d] = stored[d] - exact[d];
  const double error = norm(difference);
  return error == 0 ? 0 : error / norm(exact);
}

void take_shift(const OracleRow& exact, const OracleRow& stored, KvRowReport& row) {
  for (std::size_t j = 0; j < exact.scores.size(); ++j) {
    if (exact.scores[j] == -kInfinity) continue;  // hidden: what is seen is finite
    const double shift = finite_or_infinite(std::fabs(stored.scores[j] - exact.scores[j]));
    if (row.logit_key >= 0 && shift <= row.logit_shift) continue;
    row.logit_shift = shift;
    row.logit_key = std::int64_t(j);
  }
}

double weight_moved(const OracleRow& exact, const OracleRow& stored) {
  double sum = std::fabs(stored.weight_sum - exact.weight_sum);  // what went to or from the sink
  for (std::size_t j = 0; j < exact.weights.size(); ++j) {
    sum += std::fabs(stored.weights[j] - exact.weights[j]);
  }
  return finite_or_infinite(sum / 2);
}

void raise(double value, const KvRowReport& row, KvWorst& worst) {
  if (worst.i >= 0 && std::fabs(value) <= std::fabs(worst.value)) return;
  worst = {value, row.b, row.h, row.i};
}

}  // namespace

KvRowReport compare_rows(const OracleRow& exact, const OracleRow& stored) {
  KvRowReport row;
  row.visible = exact.visible;
  if (exact.visible == 0) return row;
  if (!all_finite(exact.out)) {  // so it is where a score is not finite
    row.out_error = row.logit_shift = row.entropy_change = row.weight_moved = kNaN;
    return row;
  }
  row.out_error = out_error(exact.out, stored.out);
  take_shift(exact, stored, row);
  row.entropy_change = finite_or_infinite(stored.entropy - exact.entropy);
  row.weight_moved = weight_moved(exact, stored);
  return row;
}

void Tally::take(const KvRowReport& row) {
  if (row.visible == 0) {
    ++summary_.rows_empty;
    return;
  }
  if (std::isnan(row.out_error)) {
    ++summary_.rows_undefined;
    return;
  }
  ++summary_.rows;
  out_squares_ += row.out_error * row.out_error;
  entropy_changes_ += row.entropy_change;
  raise(row.out_error, row, summary_.out_error);
  raise(row.logit_shift, row, summary_.logit_shift);
  raise(row.weight_moved, row, summary_.weight_moved);
  raise(row.entropy_change, row, summary_.entropy_change);
}

KvSummary Tally::summary() const {
  KvSummary summary = summary_;
  if (summary.rows == 0) return summary;
  summary.rms_out_error = std::sqrt(out_squares_ / double(summary.rows));
  summary.mean_entropy_change = entropy_changes_ / double(summary.rows);
  return summary;
}

}  // namespace regard::judging

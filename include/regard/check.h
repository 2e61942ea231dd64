// Judges anyone's attention result against the oracle, row by row, by a derived bound.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "regard/export.h"
#include "regard/oracle.h"

namespace regard {

/// |error_d| <= epsilon (c0 + c1 A + c2 S) sum_j p_j |v_jd| + floor (n + sum_j |v_jd|), with
/// A = score_magnitude, S = largest_score and n = visible of the row; for its LSE,
/// |error| <= epsilon ((c0 + c1 A + c2 S) / 2 + |lse|). docs/numerics.md derives the constants.
struct ErrorBound {
  double epsilon = 0;  ///< unit roundoff of the arithmetic
  double c0 = 0;
  double c1 = 0;
  double c2 = 0;
  double floor = 0;
};

/// epsilon (c0 + c1 A + c2 S) of a row.
inline double relative_error(const ErrorBound& bound, const OracleRow& row) noexcept {
  return bound.epsilon * (bound.c0 + bound.c1 * row.score_magnitude + bound.c2 * row.largest_score);
}

/// Bound of a result whose coarsest type (inputs or output) is `dtype`, for a row that sees
/// `visible` keys of head size `head_dim`. All zeros for types that are not served.
REGARD_API ErrorBound error_bound(DType dtype, std::int64_t head_dim,
                                  std::int64_t visible) noexcept;

struct CheckSettings {
  std::int64_t rows = 0;  ///< rows sampled over all batch entries and heads; 0: every row
  std::uint64_t seed = 0;
  std::int64_t worst_rows = 5;  ///< how many of the worst to keep
  /// Called with rows done and rows in all: at the start, now and then, and at the end; false stops
  /// with `cancelled`.
  std::function<bool(std::int64_t done, std::int64_t total)> progress;
};

struct RowVerdict {
  std::int64_t b = 0, h = 0, i = 0;
  std::int64_t d = 0;   ///< column of the largest error in units of the bound; -1: the LSE
  double expected = 0;  ///< the oracle's value there
  double actual = 0;    ///< the judged value there
  /// |actual - expected|; infinite where only one of them is finite, and where the LSE of an empty
  /// row is anything but -inf
  double error = 0;
  double bound = 0;  ///< what is allowed there
  double units = 0;  ///< error / bound; above 1 fails
};

struct CheckReport {
  bool passed = false;
  std::int64_t rows_checked = 0;
  std::int64_t rows_failed = 0;
  double worst_units = 0;
  double rms_error = 0;           ///< over all finite elements of out that were checked
  std::vector<RowVerdict> worst;  ///< sorted, worst first
};

/// Compares `out` (B, Hq, Sq, Dv) and, where its data is not null, `lse` (B, Hq, Sq, 1), each f32
/// or f64 whatever the inputs are, with the oracle. Errors: what `forward` refuses, and
/// invalid_argument for shapes that disagree; a failed check is an ok Status with `passed` false.
REGARD_API Status check(const ConstTensor& q, const ConstTensor& k, const ConstTensor& v,
                        const Options& options, const ConstTensor& out, const ConstTensor& lse,
                        const CheckSettings& settings, CheckReport& report) noexcept;

}  // namespace regard

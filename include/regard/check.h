// Judges anyone's attention result against the oracle, row by row, by a derived bound, and names
// the convention of a result that follows another one.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "regard/export.h"
#include "regard/oracle.h"

namespace regard {

/// What a result may be off by; docs/numerics.md derives every number. `score` goes to Oracle::row,
/// whose row then holds x_j and the sums over it that the functions below take.
struct ErrorBound {
  ScoreError score;
  double unit = 0;             ///< unit roundoff of the arithmetic
  double floor = 0;            ///< its smallest normal number: what is below is flushed
  double weight_rounding = 0;  ///< relative, of weights rounded to a half type
  double weight_floor = 0;     ///< the same, absolute, relative to the row's largest weight
  double result_unit = 0;      ///< unit roundoff of the result, where it is coarser
  double result_floor = 0;     ///< half of its smallest subnormal number
  double result_limit = 0;     ///< from here on it rounds to infinity
  double oracle = 0;           ///< 1 where the oracle's own roundings count: in f64
  double sink_terms = 0;       ///< 1 with sinks: one more term in the sum of weights
};

/// Bound of a result of type `result` (float) of inputs of type `inputs` and head size `head_dim`.
/// Only which options are given counts, their precision and the types of bias, slopes and sinks.
REGARD_API ErrorBound error_bound(DType inputs, DType result, std::int64_t head_dim,
                                  const Options& options = {}) noexcept;

/// Largest |error| of column d of out: with p, v, x and w = sum_j p_j x_j of the row,
///   min((E_d + |out_d| w + r (M_d + E_d)) (1 + w), M_d + (1 + r) sum_j |v_jd|) + floor,
/// E_d = sum_j p_j x_j |v_jd|, M_d = sum_j p_j |v_jd|, r what the sums, the division and rounded
/// weights cost; then the rounding of the result.
REGARD_API double out_bound(const ErrorBound& bound, const OracleRow& row, std::int64_t d) noexcept;
/// Of the LSE, a weight, the entropy, and a score of the stage that the oracle was asked for.
REGARD_API double lse_bound(const ErrorBound& bound, const OracleRow& row) noexcept;
REGARD_API double weight_bound(const ErrorBound& bound, const OracleRow& row,
                               std::int64_t j) noexcept;
REGARD_API double entropy_bound(const ErrorBound& bound, const OracleRow& row) noexcept;
REGARD_API double score_bound(const ErrorBound& bound, const OracleRow& row,
                              std::int64_t j) noexcept;

struct CheckSettings {
  std::int64_t rows = 0;  ///< rows sampled over all batch entries and heads; 0: every row
  std::uint64_t seed = 0;
  std::int64_t worst_rows = 5;  ///< how many of the worst to keep
  bool find_convention = true;  ///< look for the convention of a result that fails
  /// Judged too where its data is not null: (B, Hq, R, Skv), any float type, of the rows and the
  /// stage that the options name.
  ConstTensor weights{};
  /// Called with rows done and rows in all: at the start, now and then, and at the end; false stops
  /// with `cancelled`.
  std::function<bool(std::int64_t done, std::int64_t total)> progress;
};

struct RowVerdict {
  enum class What : std::uint8_t { out, lse, weights };
  std::int64_t b = 0, h = 0, i = 0;
  /// Column of out, or key of the weights, with the largest error in units of the bound; -1: the
  /// LSE
  std::int64_t d = 0;
  double expected = 0;  ///< the oracle's value there
  double actual = 0;    ///< the judged value there
  /// |actual - expected|; infinite where only one of them is finite, and where the LSE of an empty
  /// row or the score of a hidden key is anything but -inf
  double error = 0;
  double bound = 0;  ///< what is allowed there
  double units = 0;  ///< error / bound; above 1 fails
  What what = What::out;
};

/// Another usual convention that a result follows.
struct Convention {
  std::string name;      ///< "causal=top_left"; of two, "scale=1, lse=base2"; empty: none found
  std::string sentence;  ///< "this kernel aligns to the top left"
  std::int64_t rows_fitted = 0;  ///< rows that were tried, all of them within the bound
};

struct CheckReport {
  bool passed = false;
  std::int64_t rows_checked = 0;
  std::int64_t rows_failed = 0;
  double worst_units = 0;
  double rms_error = 0;           ///< over all finite elements of out that were checked
  std::vector<RowVerdict> worst;  ///< sorted, worst first
  Convention convention;          ///< only where the result fails
};

/// Compares `out` (B, Hq, Sq, Dv) and, where its data is not null, `lse` (B, Hq, Sq, 1), each of
/// any float type whatever the inputs are, with the oracle. Errors: what `forward` refuses, and
/// invalid_argument for shapes that disagree; a failed check is an ok Status with `passed` false.
REGARD_API Status check(const ConstTensor& q, const ConstTensor& k, const ConstTensor& v,
                        const Options& options, const ConstTensor& out, const ConstTensor& lse,
                        const CheckSettings& settings, CheckReport& report) noexcept;

}  // namespace regard

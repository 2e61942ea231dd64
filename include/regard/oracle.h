// The reference: attention straight from its definition, row by row, in f64 with compensated
// sums, for any length in O(Skv + D) memory. Slow and simple on purpose; shares no arithmetic
// with the engine.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "regard/export.h"
#include "regard/options.h"
#include "regard/status.h"
#include "regard/tensor.h"

namespace regard {

/// What one score suffers in the arithmetic that is judged: for each step a coefficient, in units
/// of `unit`, of the size that the step rounds. All zeros: exact. docs/numerics.md derives them.
/// The score of key j may be off by
///   e_j = cap(unit (magnitude A_j + score S_j) + flushed F_j)
///         + unit (capped C_j + alibi L_j + bias B_j)
///         + min(unit sum (C_j + L_j + B_j), 2 (C_j + L_j)),
/// cap being what softcap leaves of an error, and its weight by the factor 1 + x_j with
///   ln(1 + x_j) = e_j + unit (constant + distance (T_j + min(max T, lag))).
/// A_j = |scale| sum_d |q_d k_jd|, S_j = |scale q.k_j|, F_j = |scale| sum_d |q_d| + 2 sum_d |k_jd|,
/// C_j = |score after softcap|, L_j = slope |position - j|, B_j = |bias_j|, T_j = (largest score of
/// the row) - (score of j).
struct ScoreError {
  double unit = 0;
  double constant = 0;
  double magnitude = 0;
  double score = 0;
  double flushed = 0;  ///< below this an input counts as 0
  double capped = 0;
  double alibi = 0;
  double bias = 0;
  double sum = 0;
  double distance = 0;
  double lag = 0;
  double sink = 0;  ///< times |sink|, for its own weight; its T is its distance from the largest
};

/// One row's exact answer and the sizes its error bound is made of. Lists have Dv or Skv numbers;
/// hidden keys hold 0, -infinity in `scores`. x_j is that of ScoreError.
struct OracleRow {
  bool exists = true;           ///< false past q_len: the row gives 0 and -infinity
  std::int64_t visible = 0;     ///< keys the row sees
  std::vector<double> out;      ///< Dv
  std::vector<double> weights;  ///< Skv: p_j
  std::vector<double> scores;   ///< Skv: of `weights_stage`; for softmax, the biased ones
  double lse = 0;               ///< natural logarithm, sink included; -infinity for an empty row
  double entropy = 0;           ///< -sum_j p_j ln p_j
  double weight_sum = 0;        ///< sum_j p_j: 1, less with a sink, 0 for an empty row
  double largest = 0;           ///< largest score; -infinity for an empty row
  double spread = 0;            ///< max_j T_j
  std::vector<double> score_errors;   ///< Skv: the error of `scores`, e_j or its part so far
  std::vector<double> weight_errors;  ///< Skv: x_j
  double weight_error = 0;            ///< sum_j p_j x_j, the sink's share included
  /// max of ln(1 + x_j) - (distance from the largest score or sink) over the x_j that were cut at
  /// e^700; -infinity where none was.
  double cut_exponent = 0;
  double entropy_error = 0;           ///< sum_j p_j x_j (1 - ln p_j)
  std::vector<double> out_magnitude;  ///< Dv: sum_j p_j |v_jd|
  std::vector<double> out_error;      ///< Dv: sum_j p_j x_j |v_jd|
  std::vector<double> value_sum;      ///< Dv: sum_j |v_jd|
};

/// Where another kernel's conventions differ from those of regard/options.h; by default nowhere.
struct Deviation {
  enum class Softcap : std::uint8_t {
    before_bias,
    after_bias,  ///< bias and ALiBi are capped too
    after_mask,  ///< and so are hidden keys: they get -softcap and are seen, kv_len apart
  };
  enum class Alibi : std::uint8_t {
    falling,
    rising,   ///< + slope |position - j|
    one_way,  ///< + slope (j - position): keys behind the position gain
  };
  enum class Lse : std::uint8_t {
    natural,
    base2,         ///< binary logarithm
    unscaled,      ///< of the scores q.k, without the scale
    unscaled_max,  ///< the largest q.k plus the logarithm of the sum of the scaled ones
    without_sink,
  };
  enum class Empty : std::uint8_t {
    zero,
    mean,      ///< the mean of all values, the LSE being anything
    spoiled,   ///< NaN
    plus_lse,  ///< 0, but LSE +infinity
  };
  enum class Alignment : std::uint8_t {
    as_asked,
    bottom_right,  ///< kv_len[b] - q_len[b], causal or not
    padded,        ///< Skv - Sq, whatever the lengths
  };
  Alignment alignment = Alignment::as_asked;  ///< the offset, where q_offset does not give it
  Softcap softcap = Softcap::before_bias;
  Alibi alibi = Alibi::falling;
  Lse lse = Lse::natural;
  Empty empty = Empty::zero;
  bool tiled_groups = false;   ///< query head h reads KV head h mod Hkv
  bool inverted_mask = false;  ///< true hides
  bool scaled_bias = false;    ///< bias is multiplied by the scale
  bool scaled_sinks = false;   ///< so are sinks
};

/// Keys that a cache holds, where it is a ring: the same words as in KvView.
struct HeldKeys {
  /// Keys [keep_first, held_from[b]) of batch entry b have been dropped: no row sees them. Empty:
  /// all are there.
  std::span<const std::int64_t> held_from;
  std::int64_t keep_first = 0;  ///< the first keys, which the left end of a window does not hide
};

class REGARD_API Oracle {
 public:
  Oracle() noexcept = default;
  /// Checks the call as `forward` does, with the same errors. Keeps the views and spans, not
  /// copies.
  Status prepare(const ConstTensor& q, const ConstTensor& k, const ConstTensor& v,
                 const Options& options, const Deviation& deviation = {}) noexcept;

  /// The same for the numbers that a cache holds, or those it was given: k and v of any float
  /// types, whatever that of q is, and what a ring hides. `held` has no number or one a batch
  /// entry.
  Status prepare_cached(const ConstTensor& q, const ConstTensor& k, const ConstTensor& v,
                        const Options& options, const HeldKeys& held = {}) noexcept;

  /// Row i of query head h of batch entry b, invalid_argument where there is none: so it is before
  /// a successful prepare. Reads no key that the row does not see, and no bias where mask, causal,
  /// window and lengths hide the key. A row with a score that is not finite is NaN; a value that is
  /// not finite spoils its column.
  Status row(std::int64_t b, std::int64_t h, std::int64_t i, OracleRow& row,
             const ScoreError& error = {}) const noexcept;

  /// (B, Hq, Sq, Dv) of what was prepared.
  const Shape& out_shape() const noexcept { return out_shape_; }

 private:
  ConstTensor q_, k_, v_;
  Options options_;
  Deviation deviation_;
  HeldKeys held_;
  double scale_ = 0;
  Shape out_shape_{};
};

}  // namespace regard

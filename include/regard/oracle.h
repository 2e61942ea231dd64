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

/// One row's exact answer and the sizes its error bound is made of.
struct OracleRow {
  std::vector<double> out;      ///< Dv values
  std::vector<double> weights;  ///< Skv values, 0 at hidden keys
  double lse = 0;               ///< natural logarithm; -inf for an empty row
  std::int64_t visible = 0;     ///< keys the row sees
  /// max over visible j of |scale| sum_d |q_d k_jd|
  double score_magnitude = 0;
  /// max over visible j of |scale q_i.k_j|
  double largest_score = 0;
  std::vector<double> out_magnitude;  ///< Dv values: sum_j p_j |v_jd|
  std::vector<double> value_sum;      ///< Dv values: sum_j |v_jd|
};

class REGARD_API Oracle {
 public:
  Oracle() noexcept = default;
  /// Checks the call as `forward` does, with the same errors. Keeps the views, `q_offset` included,
  /// not copies.
  Status prepare(const ConstTensor& q, const ConstTensor& k, const ConstTensor& v,
                 const Options& options) noexcept;

  /// Row i of query head h of batch entry b, invalid_argument where there is none: so it is before
  /// a successful prepare. Reads no key that the row does not see. A row with a score that is not
  /// finite is NaN; a value that is not finite spoils its column.
  Status row(std::int64_t b, std::int64_t h, std::int64_t i, OracleRow& row) const noexcept;

  /// (B, Hq, Sq, Dv) of what was prepared.
  const Shape& out_shape() const noexcept { return out_shape_; }

 private:
  ConstTensor q_, k_, v_;
  Options options_;
  double scale_ = 0;
  Shape out_shape_{};
};

}  // namespace regard

// Judges rows of one result as answers to one question.
#pragma once

#include <cstdint>

#include "regard/check.h"

namespace regard::judging {

/// What was asked, whose conventions answer it, and how the memory of the result is read.
struct Setting {
  ConstTensor q, k, v;
  Options options;
  Deviation deviation;
  ConstTensor out, lse, weights;
  /// q, k, v, out and lse have their axes H and S exchanged: row (b, h, i) is (b, i, h) there.
  bool exchanged = false;
};

class Judge {
 public:
  /// What Oracle::prepare says. Keeps `setting`.
  Status prepare(const Setting& setting);

  /// Leaves in `worst` the value of row (b, h, i) that is furthest off in units of its bound.
  Status judge(std::int64_t b, std::int64_t h, std::int64_t i, RowVerdict& worst);

  /// What is allowed, of the row judged last, where `verdict` points; 0 where the answer is not
  /// finite, infinity where nothing is judged.
  double allowed(const RowVerdict& verdict) const;

  const Shape& out_shape() const { return oracle_.out_shape(); }
  /// Over the finite elements of out judged so far.
  double rms_error() const;

 private:
  void judge_lse(const Shape& at, RowVerdict& worst) const;
  void judge_weights(const Shape& at, RowVerdict& worst) const;
  /// The row with the sums over x_j of the arithmetic that `bound` is for.
  const OracleRow& row_of(const ErrorBound& bound) const;
  double expected_weight(std::int64_t j) const;
  double weights_allowed(std::int64_t j) const;

  Setting setting_;
  Oracle oracle_;
  ErrorBound out_bound_, lse_bound_, weights_bound_;
  OracleRow row_, other_row_;
  double squares_ = 0;
  std::int64_t finite_ = 0;
};

}  // namespace regard::judging

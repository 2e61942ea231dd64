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
  ConstTensor out, lse;
  /// q, k, v, out and lse have their axes H and S exchanged: row (b, h, i) is (b, i, h) there.
  bool exchanged = false;
};

class Judge {
 public:
  /// What Oracle::prepare says. Keeps `setting`.
  Status prepare(const Setting& setting);

  /// Leaves in `worst` the value of row (b, h, i) that is furthest off in units of its bound.
  Status judge(std::int64_t b, std::int64_t h, std::int64_t i, RowVerdict& worst);

  /// What is allowed in column d (-1: the LSE) of the row judged last; 0 where it is not finite.
  double allowed(std::int64_t d) const;

  const Shape& out_shape() const { return oracle_.out_shape(); }
  /// Over the finite elements of out judged so far.
  double rms_error() const;

 private:
  Status judge_lse(std::int64_t b, std::int64_t h, std::int64_t i, RowVerdict& worst);

  Setting setting_;
  Oracle oracle_;
  ErrorBound out_bound_, lse_bound_;
  OracleRow row_, lse_row_;
  double squares_ = 0;
  std::int64_t finite_ = 0;
};

}  // namespace regard::judging

// A call of `forward` with memory of its own, to be timed: everything a caller pays for, the
// context and its scratch reused, the output given.
#pragma once

#include "bench_grid.h"
#include "own_tensors.h"
#include "regard/attention.h"
#include "regard/check.h"

namespace regard::cli {

class TimedCall {
 public:
  /// Normal numbers, the same for a shape and type.
  explicit TimedCall(const Workload& workload);

  Explanation explanation() const;
  /// Of one call, the mean of `calls` in a row.
  double seconds(int calls) const;
  /// Judges 16 rows of the last result by the oracle.
  CheckReport check_sample() const;

 private:
  OwnTensors memory_;
  Context context_;
  Options options_;
  ConstTensor q_, k_, v_;
  Outputs outputs_;
};

}  // namespace regard::cli

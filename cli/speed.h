// How fast `forward` is beside the multiply-add peak of the same cores, measured in turns in one
// run. The answer is checked before it is timed.
#pragma once

#include <cstdint>
#include <string>

#include "regard/tensor.h"

namespace regard::cli {

struct Workload {
  std::int64_t batch = 1, heads = 8, length = 1024, head_dim = 64;
  bool causal = false;
  DType dtype = DType::f32;
  int threads = 1;
  int repeats = 5;

  std::string shape() const;  ///< "1x8x1024x64"
  /// 4 B H Sq Skv D, halved when causal.
  double operations() const;
};

/// Rates in operations per second.
struct Speed {
  double best = 0, median = 0, worst = 0;
  double peak = 0;         ///< the best of all threads' peaks together
  double worst_units = 0;  ///< largest error of the sampled rows, in units of their bound
  bool right = false;      ///< the sampled rows are within it

  double share() const { return peak > 0 ? best / peak : 0; }
};

Speed measure_speed(const Workload& workload);

}  // namespace regard::cli

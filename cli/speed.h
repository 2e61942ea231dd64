// How fast `forward` is beside the peak of the unit that it uses, on the same cores, measured in
// turns in one process. The answer is checked before it is timed.
#pragma once

#include <string>

#include "bench_grid.h"

namespace regard::cli {

struct Effort {
  int repeats = 5;  ///< turns of peak and attention in a run
  int runs = 1;     ///< the best one counts
};

/// From here on the peak is taken to have moved within a run.
inline constexpr double kLargestDrift = 0.05;
/// How often a run whose peak has moved is tried again.
inline constexpr int kRetries = 3;

struct Speed {
  double least_seconds = 0, median_seconds = 0, worst_seconds = 0;  ///< of one call
  double operations = 0;                                            ///< of one call
  double peak = 0;        ///< the best of all threads' loops together, in operations per second
  double peak_drift = 0;  ///< by how much the median peak stays below the best
  std::string path, unit;
  double worst_units = 0;  ///< largest error of the sampled rows, in units of their bound
  bool right = false;      ///< the sampled rows are within it

  double rate() const { return operations / least_seconds; }
  double share() const { return rate() / peak; }
  double spread() const { return worst_seconds / least_seconds - 1; }
  bool steady() const { return peak_drift <= kLargestDrift; }
};

Speed measure_speed(const Workload& workload, const Effort& effort);

}  // namespace regard::cli

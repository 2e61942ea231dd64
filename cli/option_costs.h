// What each option costs: its call is timed in turns with the plain one, the lesser time of several
// runs against the lesser. Answers are checked before they are timed.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "bench_grid.h"

namespace regard::cli {

struct OptionCost {
  std::string option;
  std::string against;          ///< the call that it is timed against
  double seconds = 0;           ///< the least of all runs
  double against_seconds = 0;   ///< the same of the other call
  std::optional<double> limit;  ///< the largest ratio that is promised
  double worst_units = 0;       ///< largest error of the sampled rows, in units of their bound
  bool right = false;           ///< the sampled rows are within it

  double ratio() const { return seconds / against_seconds; }
  bool over() const { return limit && ratio() > *limit; }
};

/// Rows of the table.
std::size_t option_count() noexcept;
/// Row `n` for the plain shape and the threads of `workload`, in f32.
OptionCost measure_option(const Workload& workload, int repeats, std::size_t n);

}  // namespace regard::cli

// The peak that a call's speed is set against: that of the unit which computes its products.
#pragma once

#include <string>

#include "regard/attention.h"

namespace regard::cli {

/// The unit that a call so explained computes its products with, by the name that measure_peak
/// takes.
std::string unit_of(const Explanation& explanation);

/// One run of the loop on each of `threads` at once, in operations per second together: cores that
/// share a clock slow one another down here as they do under attention.
double measure_peak_of(const std::string& unit, DType dtype, int threads);

}  // namespace regard::cli

// regard bench options: the table of what options cost.
#pragma once

#include "speed.h"

namespace regard::cli {

/// Measures and prints every row; gives the exit code.
int bench_options(const Workload& workload, bool json);

}  // namespace regard::cli

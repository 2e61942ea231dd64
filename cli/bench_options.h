// regard bench options: the table of what options cost.
#pragma once

#include "bench_grid.h"
#include "json_file.h"

namespace regard::cli {

/// Measures every row for the plain shape and the threads of `workload`, prints them and writes
/// them to `json` if it is not null; gives the exit code.
int bench_options(const Workload& workload, int repeats, JsonFile* json);

}  // namespace regard::cli

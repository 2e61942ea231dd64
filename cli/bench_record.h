// A bench as its JSON file keeps it: the machine, how it was measured, and the rows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench_grid.h"
#include "speed.h"

namespace regard::cli {

/// Smaller differences are noise.
inline constexpr double kNoise = 0.03;

/// A row beside the same row of an earlier bench. Ratios are now over before, of the least times
/// and of the shares of the peak.
struct Comparison {
  double before_seconds = 0, before_share = 0;
  double time_ratio = 0;
  std::optional<double> share_ratio;  ///< absent where the peaks are of different units
  std::string verdict;                ///< empty where nothing is worse by more than kNoise
};

struct BenchRow {
  Workload workload;
  Speed speed;
  std::optional<Comparison> comparison;
};

struct BenchRecord {
  std::string version, cpu, isa;
  int threads = 1;  ///< what the machine offers
  Effort effort;
  std::vector<BenchRow> rows;
};

/// A record without rows, of this machine and program.
BenchRecord record_here(const Effort& effort);

std::string json_text(const BenchRecord& record);

/// What json_text wrote to `path`, its comparisons left out. Of the times only the least is read,
/// and operations are counted anew. Anything else is an Error naming `flag` and the file.
BenchRecord read_record(const std::string& flag, const std::string& path);

}  // namespace regard::cli

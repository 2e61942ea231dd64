// How fast `decode` reads its cache beside a plain read of the same bytes, in turns in one process;
// and what a shared prefix saves. Answers are checked before they are timed.
#pragma once

#include <string>
#include <vector>

#include "cached_call.h"

namespace regard::cli {

/// Seconds of one call over several turns.
struct TurnTimes {
  double least = 0, median = 0, worst = 0;
  double spread() const { return worst / least - 1; }
};

struct DecodeSpeed {
  std::int64_t bytes = 0, layers = 0;
  TurnTimes decode, read;
  double worst_units = 0;  ///< largest error of the sampled rows, in units of their bound
  bool right = false;

  double rate() const { return double(bytes) / decode.least; }
  double read_rate() const { return double(bytes) / read.least; }
  double share() const { return rate() / read_rate(); }
};

DecodeSpeed measure_decode(const DecodeWorkload& workload, int repeats);

struct SharedSpeed {
  TurnTimes together, apart;
  double worst_units = 0;
  bool right = false;

  double gain() const { return apart.least / together.least; }
};

SharedSpeed measure_shared(const SharedWorkload& workload, int repeats);

}  // namespace regard::cli

#include "decode_speed.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

namespace regard::cli {
namespace {

TurnTimes times_of(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  const double median = (seconds[(seconds.size() - 1) / 2] + seconds[seconds.size() / 2]) / 2;
  return {seconds.front(), median, seconds.back()};
}

/// Calls on one layer shorter than this are timed several in a row.
int calls_a_turn(const DecodeWorkload& workload, const CachedCall& call) {
  constexpr double kTurnSeconds = 1e-3, kMost = 1e6;
  if (workload.memory == MemoryKind::ram) return 1;
  return int(std::clamp(std::ceil(kTurnSeconds / call.seconds(0, 1)), 1.0, kMost));
}

/// The threads of the last call wait for another one for a while, and would take the reading
/// threads' cores.
void let_threads_sleep(int threads) {
  if (threads > 1) std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

}  // namespace

DecodeSpeed measure_decode(const DecodeWorkload& workload, int repeats) {
  const CachedCall call(workload);
  const CheckReport report = call.check_sample(0);
  DecodeSpeed speed;
  speed.bytes = workload.bytes();
  speed.layers = call.layers();
  speed.worst_units = report.worst_units;
  speed.right = report.passed;
  if (!speed.right) return speed;
  const int calls = calls_a_turn(workload, call);
  std::vector<double> decodes, reads;
  for (int turn = 0; turn < repeats; ++turn) {
    // Half a round apart: all layers are touched between two uses of the same.
    decodes.push_back(call.seconds(turn % call.layers(), calls));
    let_threads_sleep(workload.threads);
    reads.push_back(call.read_seconds((turn + call.layers() / 2) % call.layers(), calls));
  }
  speed.decode = times_of(decodes);
  speed.read = times_of(reads);
  return speed;
}

SharedSpeed measure_shared(const SharedWorkload& workload, int repeats) {
  const SharedCall call(workload);
  const CheckReport report = call.check_sample();
  SharedSpeed speed;
  speed.worst_units = report.worst_units;
  speed.right = report.passed;
  if (!speed.right) return speed;
  std::vector<double> together, apart;
  for (int turn = 0; turn < repeats; ++turn) {
    together.push_back(call.seconds_together());
    apart.push_back(call.seconds_apart());
  }
  speed.together = times_of(together);
  speed.apart = times_of(apart);
  return speed;
}

}  // namespace regard::cli

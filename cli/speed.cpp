#include "speed.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "peak.h"
#include "timed_call.h"

namespace regard::cli {
namespace {

/// Calls shorter than this are timed several in a row: the clock takes some 30 ns to read, and what
/// ran before has left caches and branch predictors to itself.
constexpr double kTurnSeconds = 1e-3;

double median_of_sorted(const std::vector<double>& numbers) {
  return (numbers[(numbers.size() - 1) / 2] + numbers[numbers.size() / 2]) / 2;
}

int calls_a_turn(double seconds) {
  constexpr double kMost = 1e6;
  return int(std::clamp(std::ceil(kTurnSeconds / seconds), 1.0, kMost));
}

/// Everything about a workload but its times, and how to take those.
class Stopwatch {
 public:
  Stopwatch(const Workload& workload, const Effort& effort)
      : workload_(workload), repeats_(effort.repeats), call_(workload) {
    const Explanation explanation = call_.explanation();
    speed_.path = path_name(explanation.path);
    speed_.unit = unit_of(explanation);
    speed_.operations = workload.operations();
    const double first = call_.seconds(1);
    const CheckReport report = call_.check_sample();
    speed_.worst_units = report.worst_units;
    speed_.right = report.passed;
    // The first call has made threads and scratch, too.
    if (speed_.right && first < 1) calls_ = calls_a_turn(call_.seconds(1));
  }

  bool right() const { return speed_.right; }
  const Speed& untimed() const { return speed_; }

  /// The first run whose peak stays, else that of the least drift.
  Speed steady_run() const {
    Speed best = run();
    for (int retry = 0; retry < kRetries && !best.steady(); ++retry) {
      const Speed again = run();
      if (again.peak_drift < best.peak_drift) best = again;
    }
    return best;
  }

 private:
  Speed run() const {
    std::vector<double> peaks, times;
    for (int repeat = 0; repeat < repeats_; ++repeat) {
      peaks.push_back(measure_peak_of(speed_.unit, workload_.dtype, workload_.threads));
      times.push_back(call_.seconds(calls_));
    }
    std::sort(peaks.begin(), peaks.end());
    std::sort(times.begin(), times.end());
    Speed speed = speed_;
    speed.peak = peaks.back();
    speed.peak_drift = 1 - median_of_sorted(peaks) / peaks.back();
    speed.least_seconds = times.front();
    speed.median_seconds = median_of_sorted(times);
    speed.worst_seconds = times.back();
    return speed;
  }

  Workload workload_;
  int repeats_;
  TimedCall call_;
  int calls_ = 1;
  Speed speed_;
};

/// A steady run is better than one that is not, a shorter time better than a longer one.
bool better(const Speed& a, const Speed& b) {
  if (a.steady() != b.steady()) return a.steady();
  return a.least_seconds < b.least_seconds;
}

}  // namespace

Speed measure_speed(const Workload& workload, const Effort& effort) {
  const Stopwatch stopwatch(workload, effort);
  if (!stopwatch.right()) return stopwatch.untimed();
  Speed best = stopwatch.steady_run();
  for (int run = 1; run < effort.runs; ++run) {
    const Speed speed = stopwatch.steady_run();
    if (better(speed, best)) best = speed;
  }
  return best;
}

}  // namespace regard::cli

#include "speed.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include "command.h"
#include "random.h"
#include "regard/attention.h"
#include "regard/check.h"
#include "regard/machine.h"

namespace regard::cli {
namespace {

constexpr std::int64_t kCheckedRows = 16;

/// All threads' multiply-add loops at once: cores that share a clock slow one another down here
/// as they do under attention.
double measure_peak_of(DType dtype, int threads) {
  std::vector<double> rates(std::size_t(threads), 0.0);
  std::vector<Status> outcomes(rates.size());
  const auto measure = [&](std::size_t n) { outcomes[n] = measure_peak(dtype, 1, rates[n]); };
  std::vector<std::thread> others;
  for (std::size_t n = 1; n < rates.size(); ++n) others.emplace_back(measure, n);
  measure(0);
  for (std::thread& thread : others) thread.join();
  double sum = 0;
  for (std::size_t n = 0; n < rates.size(); ++n) {
    require(outcomes[n]);
    sum += rates[n];
  }
  return sum;
}

/// One workload's memory, and the call that is timed.
template <class T>
class Bench {
 public:
  explicit Bench(const Workload& workload)
      : shape_{workload.batch, workload.heads, workload.length, workload.head_dim},
        dtype_(workload.dtype),
        context_(workload.threads) {
    std::mt19937_64 engine(1);
    const std::int64_t count = shape_[0] * shape_[1] * shape_[2] * shape_[3];
    for (auto* values : {&q_, &k_, &v_}) *values = normal_numbers<T>(count, engine);
    out_.resize(std::size_t(count));
    options_.causal = workload.causal ? Causal::top_left : Causal::none;
  }

  int threads() const { return context_.threads(); }

  double run_seconds() {
    using Clock = std::chrono::steady_clock;
    const Outputs outputs{view(out_.data(), shape_), {}, {}};
    const auto start = Clock::now();
    require(forward(context_, view(q_.data(), shape_), view(k_.data(), shape_),
                    view(v_.data(), shape_), outputs, options_));
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  CheckReport check_sample() const {
    CheckReport report;
    CheckSettings settings;
    settings.rows = kCheckedRows;
    require(check(view(q_.data(), shape_), view(k_.data(), shape_), view(v_.data(), shape_),
                  options_, view(out_.data(), shape_), {}, settings, report));
    return report;
  }

  double peak() const { return measure_peak_of(dtype_, threads()); }

 private:
  Shape shape_;
  DType dtype_;
  Context context_;
  Options options_;
  std::vector<T> q_, k_, v_, out_;
};

template <class T>
Speed measure(const Workload& workload) {
  Bench<T> bench(workload);
  Speed speed;
  bench.run_seconds();
  const CheckReport report = bench.check_sample();
  speed.worst_units = report.worst_units;
  speed.right = report.passed;
  if (!speed.right) return speed;
  std::vector<double> rates;
  for (int repeat = 0; repeat < workload.repeats; ++repeat) {
    speed.peak = std::max(speed.peak, bench.peak());
    rates.push_back(workload.operations() / bench.run_seconds());
  }
  std::sort(rates.begin(), rates.end());
  speed.worst = rates.front();
  speed.median = (rates[(rates.size() - 1) / 2] + rates[rates.size() / 2]) / 2;
  speed.best = rates.back();
  return speed;
}

}  // namespace

std::string Workload::shape() const {
  return fmt::format("{}x{}x{}x{}", batch, heads, length, head_dim);
}

double Workload::operations() const {
  const double full =
      4.0 * double(batch) * double(heads) * double(length) * double(length) * double(head_dim);
  return causal ? full / 2 : full;
}

Speed measure_speed(const Workload& workload) {
  return workload.dtype == DType::f64 ? measure<double>(workload) : measure<float>(workload);
}

}  // namespace regard::cli

#include "peak.h"

#include <numeric>
#include <thread>
#include <vector>

#include "command.h"
#include "regard/machine.h"

namespace regard::cli {

std::string unit_of(const Explanation& explanation) {
  // An emulated unit is made of vectors' multiply-adds.
  return explanation.unit.starts_with("emulated") ? "fma" : explanation.unit;
}

double measure_peak_of(const std::string& unit, DType dtype, int threads) {
  std::vector<double> rates(std::size_t(threads), 0.0);
  std::vector<Status> outcomes(rates.size());
  const auto measure = [&](std::size_t n) { outcomes[n] = measure_peak(unit, dtype, 1, rates[n]); };
  std::vector<std::thread> others;
  for (std::size_t n = 1; n < rates.size(); ++n) others.emplace_back(measure, n);
  measure(0);
  for (std::thread& thread : others) thread.join();
  for (const Status& outcome : outcomes) require(outcome);
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

}  // namespace regard::cli

#include "bench_compare.h"

#include <fmt/format.h>

namespace regard::cli {
namespace {

/// Where the clock has changed between two benches, times and peaks move together and shares stay.
const char* verdict_of(double time_ratio, const std::optional<double>& share_ratio) {
  const bool slower = time_ratio > 1 + kNoise;
  const bool less = share_ratio && *share_ratio * (1 + kNoise) < 1;
  if (slower && (less || !share_ratio)) return "slower";
  if (slower) return "slower, so is the peak";
  return less ? "smaller share" : "";
}

std::string machine_text(const BenchRecord& record) {
  return fmt::format("{}, {}, {} thread{}", record.cpu, record.isa, record.threads,
                     record.threads == 1 ? "" : "s");
}

}  // namespace

Earlier::Earlier(std::string name, BenchRecord record)
    : name_(std::move(name)), record_(std::move(record)) {
  for (std::size_t n = 0; n < record_.rows.size(); ++n) {
    places_[key_of(record_.rows[n].workload)] = n;
  }
}

std::optional<Comparison> Earlier::compare(const Workload& workload, const Speed& now) const {
  const auto place = places_.find(key_of(workload));
  if (place == places_.end() || !now.right) return {};
  const Speed& before = record_.rows[place->second].speed;
  if (!before.right) return {};
  Comparison comparison;
  comparison.before_seconds = before.least_seconds;
  comparison.before_share = before.share();
  comparison.time_ratio = now.least_seconds / before.least_seconds;
  if (now.unit == before.unit) comparison.share_ratio = now.share() / before.share();
  comparison.verdict = verdict_of(comparison.time_ratio, comparison.share_ratio);
  return comparison;
}

std::string Earlier::heading(const BenchRecord& now) const {
  std::string text =
      fmt::format("beside {}: version {}, {} repeat{}, {} run{}\n", name_, record_.version,
                  record_.effort.repeats, record_.effort.repeats == 1 ? "" : "s",
                  record_.effort.runs, record_.effort.runs == 1 ? "" : "s");
  const std::string then = machine_text(record_), here = machine_text(now);
  if (then != here) {
    text += fmt::format("The machines differ, so look at shares: {} there; {} here.\n", then, here);
  }
  return text;
}

}  // namespace regard::cli

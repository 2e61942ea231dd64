#include "bench_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>

#include "text.h"

namespace regard::cli {
namespace {

std::string count_text(int count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

/// A machine that others use may give thousands of percent.
std::string spread_text(double spread) {
  return spread < 10 ? fmt::format("{:.1f}%", 100 * spread) : fmt::format("{:.0f}%", 100 * spread);
}

}  // namespace

BenchTable::BenchTable(const std::vector<Workload>& grid, const Earlier* earlier)
    : earlier_(earlier) {
  for (const Workload& workload : grid) {
    shape_width_ = std::max(shape_width_, text_of(workload.shape).size() + 2);
    mask_width_ = std::max(mask_width_, text_of(workload.mask).size() + 1);
  }
}

void BenchTable::print_head(const BenchRecord& record) const {
  const auto& [repeats, runs] = record.effort;
  fmt::print("{}, {}, {}{}\n", record.cpu, record.isa, count_text(repeats, "repeat"),
             runs == 1 ? "" : fmt::format(", the best of {} runs", runs));
  if (earlier_) fmt::print("{}", wrapped(earlier_->heading(record), 80, 0));
}

/// Types, threads and units have a heading each and no column.
void BenchTable::print_group(const BenchRow& row) {
  const auto& [workload, speed, comparison] = row;
  const std::string group = fmt::format("{}, {}, peak of {}", dtype_name(workload.dtype),
                                        count_text(workload.threads, "thread"), speed.unit);
  if (group == group_) return;
  group_ = group;
  fmt::print("\n{}\n{:<{}}{:<{}}{:>9}{:>10}{:>8}{:>8}{:>8}{:>7}\n", group, "shape", shape_width_,
             "mask", mask_width_, "least", "median", "spread", "GF/s", "peak", "share");
}

void BenchTable::print_speed(const Speed& speed) {
  constexpr double kGiga = 1e9;
  fmt::print("{:>9}{:>10} {:>7}{:>8.1f}{:>8.1f}{:>6.1f}%{}\n", time_text(speed.least_seconds),
             time_text(speed.median_seconds), spread_text(speed.spread()), speed.rate() / kGiga,
             speed.peak / kGiga, 100 * speed.share(), speed.steady() ? "" : "*");
  if (!speed.steady()) ++unsteady_;
}

void BenchTable::print_before(const BenchRow& row) {
  fmt::print("{:<{}}", "  before", shape_width_ + mask_width_);
  if (!row.comparison) {
    fmt::print("{:>9}  no such row, or a wrong one\n", "-");
    return;
  }
  const Comparison& c = *row.comparison;
  const std::string share =
      c.share_ratio ? fmt::format("x{:.3f}", *c.share_ratio) : std::string("-");
  fmt::print("{:>9}  time x{:.3f}, share {}{}{}\n", time_text(c.before_seconds), c.time_ratio,
             share, c.verdict.empty() ? "" : ": ", c.verdict);
  ++compared_;
  if (!c.verdict.empty()) ++worse_;
}

void BenchTable::print(const BenchRow& row) {
  print_group(row);
  fmt::print("{:<{}}{:<{}}", text_of(row.workload.shape), shape_width_, text_of(row.workload.mask),
             mask_width_);
  if (row.speed.right) {
    print_speed(row.speed);
  } else {
    fmt::print("WRONG: an error of {:.3g} times its bound\n", row.speed.worst_units);
  }
  if (earlier_ && row.speed.right) print_before(row);
  ++rows_;
  std::fflush(stdout);
}

void BenchTable::print_foot() const {
  if (unsteady_ > 0) {
    fmt::print("\n* the median peak stayed more than {:.0f}% below the best, {} times in a row\n",
               100 * kLargestDrift, kRetries + 1);
  }
  if (!earlier_) return;
  fmt::print("\n{} of {} compared; {} worse by more than {:.0f}%\n", compared_,
             count_text(rows_, "row"), worse_, 100 * kNoise);
}

}  // namespace regard::cli

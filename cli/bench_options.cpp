#include "bench_options.h"

#include <fmt/core.h>

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "option_costs.h"
#include "regard/machine.h"
#include "report.h"

namespace regard::cli {
namespace {

using Json = nlohmann::ordered_json;

void print_head(const MachineInfo& machine, const Workload& workload) {
  fmt::print("{}, {}, f32, {}, {} thread{}, the least of {} runs\n\n", machine.cpu, machine.isa,
             workload.shape(), workload.threads, workload.threads == 1 ? "" : "s",
             workload.repeats);
  fmt::print("{:<40}{:>10}  {:<12}{:>7} {:>7}\n", "option", "ms", "against", "ratio", "limit");
}

void print_row(const OptionCost& cost) {
  fmt::print("{:<40}", cost.option);
  if (!cost.right) {
    fmt::print("WRONG: an error of {:.3g} times its bound\n", cost.worst_units);
  } else {
    fmt::print("{:>10.2f}  {:<12}{:>7.3f}", 1000 * cost.seconds, cost.against, cost.ratio());
    if (cost.limit) fmt::print(" {:>7.3f}{}", *cost.limit, cost.over() ? "  over" : "");
    fmt::print("\n");
  }
  std::fflush(stdout);  // a row may take seconds: shown when it is there, in a pipe too
}

Json json_row(const OptionCost& cost) {
  Json row = {{"option", cost.option}, {"against", cost.against}, {"right", cost.right}};
  row["worst_units"] = std::isfinite(cost.worst_units) ? Json(cost.worst_units) : Json("inf");
  row["limit"] = cost.limit ? Json(*cost.limit) : Json(nullptr);
  if (!cost.right) return row;
  row["seconds"] = cost.seconds;
  row["against_seconds"] = cost.against_seconds;
  row["ratio"] = cost.ratio();
  return row;
}

}  // namespace

int bench_options(const Workload& workload, bool json) {
  MachineInfo machine;
  require(describe_machine(machine));
  if (!json) print_head(machine, workload);
  Json rows = Json::array();
  Report report;
  for (std::size_t n = 0; n < option_count(); ++n) {
    const OptionCost cost = measure_option(workload, n);
    if (json) {
      rows.push_back(json_row(cost));
    } else {
      print_row(cost);
    }
    report.count(cost.right);
  }
  if (json) {
    const Json all = {{"cpu", machine.cpu},
                      {"isa", machine.isa},
                      {"dtype", "f32"},
                      {"shape", workload.shape()},
                      {"threads", workload.threads},
                      {"repeats", workload.repeats},
                      {"options", rows}};
    fmt::print("{}\n", all.dump(2));
  }
  return report.exit_code();
}

}  // namespace regard::cli

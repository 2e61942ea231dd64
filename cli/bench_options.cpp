#include "bench_options.h"

#include <fmt/core.h>

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "option_costs.h"
#include "regard/machine.h"
#include "regard/version.h"
#include "report.h"

namespace regard::cli {
namespace {

using Json = nlohmann::ordered_json;

void print_head(const MachineInfo& machine, const Workload& workload, int repeats) {
  fmt::print("{}, {}, f32, {}, {} thread{}, the least of {} runs\n\n", machine.cpu, machine.isa,
             text_of(workload.shape), workload.threads, workload.threads == 1 ? "" : "s", repeats);
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

int bench_options(const Workload& workload, int repeats, JsonFile* json) {
  MachineInfo machine;
  require(describe_machine(machine));
  const bool table = !json || !json->is_stdout();
  if (table) print_head(machine, workload, repeats);
  Json rows = Json::array();
  Report report;
  for (std::size_t n = 0; n < option_count(); ++n) {
    const OptionCost cost = measure_option(workload, repeats, n);
    rows.push_back(json_row(cost));
    if (table) print_row(cost);
    report.count(cost.right);
  }
  const Json all = {{"version", kVersion},
                    {"cpu", machine.cpu},
                    {"isa", machine.isa},
                    {"dtype", "f32"},
                    {"shape", text_of(workload.shape)},
                    {"threads", workload.threads},
                    {"repeats", repeats},
                    {"options", rows}};
  if (json) json->write(all.dump(2, ' ', false, Json::error_handler_t::replace));
  return report.exit_code();
}

}  // namespace regard::cli

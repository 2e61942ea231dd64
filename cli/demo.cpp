// regard demo: the tour that ./run shows. Both labs, a real model's attention, one line of speed.
#include <fmt/core.h>

#include <algorithm>

#include "command.h"
#include "flags.h"
#include "lab.h"
#include "model.h"
#include "regard/machine.h"
#include "report.h"
#include "speed.h"

namespace regard::cli {
namespace {

constexpr char kUsage[] = "demo";
constexpr char kMore[] =
    "Runs both labs, attention of a real sentence encoder on a sentence, and a speed test, each\n"
    "checked; exit code 1 when a check fails.\n";

void show_speed(Report& report) {
  MachineInfo machine;
  require(describe_machine(machine));
  Workload workload;
  const Effort effort = {.repeats = 10};
  const Speed plain = measure_speed(workload, effort);
  workload.mask.causal = Causal::top_left;
  const Speed causal = measure_speed(workload, effort);
  fmt::print("speed on one thread of {}, {}\n", machine.cpu, machine.isa);
  report.claim(
      plain.right && causal.right,
      fmt::format("{} f32: {:.0f} GF/s, {:.0f}% of this core's multiply-add peak of {:.0f}",
                  text_of(workload.shape), plain.rate() / 1e9, 100 * plain.share(),
                  plain.peak / 1e9),
      fmt::format("causal: {:.0f} GF/s, {:.0f}% of it; sampled rows at most {:.2f} of "
                  "their error bound",
                  causal.rate() / 1e9, 100 * causal.share(),
                  std::max(plain.worst_units, causal.worst_units)));
}

int run() {
  Report report;
  show_causal_lab({}, report);
  fmt::print("\n");
  show_blocked_lab({}, report);
  fmt::print("\n");
  show_model(report);
  fmt::print("\n");
  show_speed(report);
  if (report.failed() == 0) {
    fmt::print("\nall {} checks passed; 'regard --help' shows what else there is\n",
               report.claims());
  } else {
    fmt::print("\n{} of {} checks failed\n", report.failed(), report.claims());
  }
  return report.exit_code();
}

}  // namespace

Command add_demo(CLI::App& program) {
  CLI::App* app = add_command(program, "demo", "a tour: the labs, a real model, speed");
  return {app, [] { return Page{kUsage, kMore}; }, run};
}

}  // namespace regard::cli

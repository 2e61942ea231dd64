// regard bench: speed of a few shapes beside the multiply-add peak.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "command.h"
#include "flags.h"
#include "regard/context.h"
#include "regard/machine.h"
#include "report.h"
#include "speed.h"
#include "text.h"

namespace regard::cli {
namespace {

constexpr char kUsage[] = "bench [FLAGS]";
constexpr char kMore[] =
    "GF/s counts 4 B H S S D operations, halved when causal. The peak is that of a loop of\n"
    "multiply-adds in registers, run in turns with attention on as many threads; best is set\n"
    "against best. spread is how much slower the slowest run was. Before it is timed, every\n"
    "result is checked on 16 rows against the oracle; a wrong one is exit code 1.\n"
    "\n"
    "Examples:\n"
    "  regard bench\n"
    "  regard bench --shape 1x8x2048x64 --dtype f64 --threads 2 --repeats 20\n";

struct BenchFlags {
  std::vector<std::vector<std::int64_t>> shapes;
  DType dtype = DType::f32;
  std::optional<std::int64_t> threads, repeats;
};

const std::vector<std::vector<std::int64_t>> kShapes = {
    {1, 8, 1024, 64}, {1, 8, 1024, 128}, {1, 4, 4096, 128}, {1, 1, 16384, 64}};

std::vector<std::int64_t> parse_shape(const std::string& text) {
  std::vector<std::int64_t> shape = parse_integers("--shape", text, 'x');
  const double elements = [&] {
    double product = 1;
    for (const std::int64_t length : shape) product *= double(length);
    return product;
  }();
  const bool positive = std::all_of(shape.begin(), shape.end(), [](auto n) { return n > 0; });
  if (shape.size() != 4 || !positive) {
    throw Error(fmt::format("--shape: '{}' is not BxHxSxD, four numbers of at least 1", text));
  }
  if (elements > 0x1p40) throw Error(fmt::format("--shape: {} is larger than any memory", text));
  return shape;
}

int bounded(const char* name, const std::optional<std::int64_t>& given, int absent, int lowest,
            int highest) {
  const std::int64_t value = given.value_or(absent);
  if (value < lowest || value > highest) {
    throw Error(fmt::format("{}: {} is not in [{}, {}]", name, value, lowest, highest));
  }
  return int(value);
}

void print_row(const Workload& workload, const Speed& speed) {
  const double giga = 1e9;
  fmt::print("{:<16} {:<7}", workload.shape(), workload.causal ? "causal" : "");
  if (!speed.right) {
    fmt::print("WRONG: an error of {:.3g} times its bound\n", speed.worst_units);
  } else {
    fmt::print("{:>9.1f} {:>9.1f} {:>6.1f}% {:>9.1f} {:>6.1f}%\n", speed.best / giga,
               speed.median / giga, 100 * (speed.best / speed.worst - 1), speed.peak / giga,
               100 * speed.share());
  }
  std::fflush(stdout);  // a row may take seconds: shown when it is there, in a pipe too
}

int run(const BenchFlags& flags) {
  Workload workload;
  workload.dtype = flags.dtype;
  workload.threads = bounded("--threads", flags.threads, 1, 0, 1024);
  workload.repeats = bounded("--repeats", flags.repeats, 5, 1, 1'000'000);
  MachineInfo machine;
  require(describe_machine(machine));
  if (workload.threads == 0) workload.threads = machine.threads;
  fmt::print("{}, {}, {}, {} thread{}, {} runs each\n\n", machine.cpu, machine.isa,
             dtype_name(flags.dtype), workload.threads, workload.threads == 1 ? "" : "s",
             workload.repeats);
  fmt::print("{:<16} {:<7}{:>9} {:>9} {:>7} {:>9} {:>7}\n", "BxHxSxD", "", "GF/s", "median",
             "spread", "peak", "share");
  Report report;
  for (const std::vector<std::int64_t>& shape : flags.shapes.empty() ? kShapes : flags.shapes) {
    for (const bool causal : {false, true}) {
      workload.batch = shape[0];
      workload.heads = shape[1];
      workload.length = shape[2];
      workload.head_dim = shape[3];
      workload.causal = causal;
      const Speed speed = measure_speed(workload);
      print_row(workload, speed);
      report.count(speed.right);
    }
  }
  return report.exit_code();
}

}  // namespace

Command add_bench(CLI::App& program) {
  const auto flags = std::make_shared<BenchFlags>();
  CLI::App* app = program.add_subcommand("bench", "speed, and its share of the multiply-add peak");
  add_value(*app, {"--shape", "BxHxSxD", "this shape, plain and causal; default a list of four"},
            [flags](const std::string& text) { flags->shapes = {parse_shape(text)}; });
  add_choice<DType>(*app, "--dtype", "type of the elements; default f32",
                    {{"f32", DType::f32}, {"f64", DType::f64}}, flags->dtype);
  add_integer(*app, {"--threads", "N", "default 1; 0: all"}, flags->threads);
  add_integer(*app, {"--repeats", "N", "timed runs; default 5"}, flags->repeats);
  return {app, kUsage, kMore, [flags] { return run(*flags); }};
}

}  // namespace regard::cli

// regard bench: speed of a few shapes beside the multiply-add peak, or what options cost.
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "bench_options.h"
#include "command.h"
#include "flags.h"
#include "regard/context.h"
#include "regard/machine.h"
#include "report.h"
#include "speed.h"
#include "suggest.h"
#include "text.h"

namespace regard::cli {
namespace {

constexpr char kUsage[] = "bench [FLAGS]\n       regard bench options [FLAGS]";
constexpr char kMore[] =
    "GF/s counts 4 B H S S D operations, halved when causal. The peak is that of a loop of\n"
    "multiply-adds in registers, run in turns with attention on as many threads; best is set\n"
    "against best. spread is how much slower the slowest run was. Before it is timed, every\n"
    "result is checked on 16 rows against the oracle; a wrong one is exit code 1.\n"
    "\n"
    "'bench options' is a table of what options and outputs cost, in f32: the call with one of\n"
    "them and the call without are run in turns in this process, and ratio is the least time of\n"
    "the one over the least of the other. limit is the ratio that is promised where there is one;\n"
    "'over' marks a row above it, and is no error: other programs on this machine cost time too.\n"
    "Rows of 8 S run one head at eight times the length. Of every call 16 rows are checked before\n"
    "it is timed: out, log-sum-exp, weights, entropy and top keys, but not key masses.\n"
    "\n"
    "Examples:\n"
    "  regard bench\n"
    "  regard bench options --repeats 10\n"
    "  regard bench --shape 1x8x2048x64 --dtype f64 --threads 2 --repeats 20\n";

struct BenchFlags {
  std::string what;  ///< "" or "options"
  std::vector<std::vector<std::int64_t>> shapes;
  std::optional<DType> dtype;
  bool json = false;
  std::optional<std::int64_t> threads, repeats;
};

const std::vector<std::vector<std::int64_t>> kShapes = {
    {1, 8, 1024, 64}, {1, 8, 1024, 128}, {1, 4, 4096, 128}, {1, 1, 16384, 64}};
const std::vector<std::int64_t> kOptionsShape = {1, 2, 2048, 64};

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

void set_shape(Workload& workload, const std::vector<std::int64_t>& shape) {
  workload.batch = shape[0];
  workload.heads = shape[1];
  workload.length = shape[2];
  workload.head_dim = shape[3];
}

int bench_shapes(const BenchFlags& flags, Workload workload) {
  MachineInfo machine;
  require(describe_machine(machine));
  fmt::print("{}, {}, {}, {} thread{}, {} runs each\n\n", machine.cpu, machine.isa,
             dtype_name(workload.dtype), workload.threads, workload.threads == 1 ? "" : "s",
             workload.repeats);
  fmt::print("{:<16} {:<7}{:>9} {:>9} {:>7} {:>9} {:>7}\n", "BxHxSxD", "", "GF/s", "median",
             "spread", "peak", "share");
  Report report;
  for (const std::vector<std::int64_t>& shape : flags.shapes.empty() ? kShapes : flags.shapes) {
    for (const bool causal : {false, true}) {
      set_shape(workload, shape);
      workload.causal = causal;
      const Speed speed = measure_speed(workload);
      print_row(workload, speed);
      report.count(speed.right);
    }
  }
  return report.exit_code();
}

int run(const BenchFlags& flags) {
  const bool options = !flags.what.empty();
  if (options && flags.what != "options") {
    throw Error(fmt::format("'{}' is not 'options', the one other table{}", flags.what,
                            did_you_mean(flags.what, {"options"})));
  }
  if (options && flags.dtype) throw Error("--dtype: 'bench options' is f32");
  if (!options && flags.json) throw Error("--json: it belongs to 'bench options'");
  Workload workload;
  workload.dtype = flags.dtype.value_or(DType::f32);
  workload.threads = bounded("--threads", flags.threads, 1, 0, 1024);
  workload.repeats = bounded("--repeats", flags.repeats, 5, 1, 1'000'000);
  if (workload.threads == 0) workload.threads = Context().threads();
  if (!options) return bench_shapes(flags, workload);
  set_shape(workload, flags.shapes.empty() ? kOptionsShape : flags.shapes[0]);
  return bench_options(workload, flags.json);
}

}  // namespace

Command add_bench(CLI::App& program) {
  const auto flags = std::make_shared<BenchFlags>();
  CLI::App* app = add_command(program, "bench", "speed, and its share of the multiply-add peak");
  begin_group(*app, "Flags");
  add_word(*app, "what", "'options', or nothing", flags->what);
  add_value(*app,
            {"--shape", "BxHxSxD",
             "this shape, plain and causal; default a list of four, for options 1x2x2048x64"},
            [flags](const std::string& text) { flags->shapes = {parse_shape(text)}; });
  add_choice<std::optional<DType>>(*app, "--dtype", "type of the elements; default f32",
                                   {{"f32", DType::f32}, {"f64", DType::f64}}, flags->dtype);
  add_integer(*app, {"--threads", "N", "default 1; 0: all"}, flags->threads);
  add_integer(*app, {"--repeats", "N", "timed runs; default 5"}, flags->repeats);
  add_switch(*app, "--json", "the table of options for programs", flags->json);
  return {app, kUsage, kMore, [flags] { return run(*flags); }};
}

}  // namespace regard::cli

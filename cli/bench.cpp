// regard bench: speed over a grid of calls beside the peak, what options cost, or how fast `decode`
// reads its cache.
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "bench_compare.h"
#include "bench_decode.h"
#include "bench_options.h"
#include "bench_record.h"
#include "bench_table.h"
#include "command.h"
#include "flags.h"
#include "json_file.h"
#include "regard/context.h"
#include "report.h"
#include "suggest.h"

namespace regard::cli {
namespace {

constexpr char kGridGroup[] = "The grid";
constexpr char kMeasuredGroup[] = "How it is measured";
constexpr char kFilesGroup[] = "Files";
constexpr char kUsage[] =
    "bench [FLAGS]\n       regard bench options [FLAGS]\n"
    "       regard bench decode [FLAGS]     'regard bench decode --help' has its flags";
constexpr char kMore[] =
    "The rows are all combinations of the shapes, masks, types and threads that are given; each\n"
    "of these flags takes a list with commas, or comes several times. A shape is BxHxSxD. Where\n"
    "queries and keys differ, H, S and D are two numbers, queries/keys: 1x32/8x1/4096x128 is one\n"
    "row of each of 32 query heads over 4096 keys of 8 KV heads, and x192/128 at the end are\n"
    "values of size 128 under queries and keys of 192.\n"
    "\n"
    "least and median are times of one call. spread is how much slower the slowest was. GF/s\n"
    "counts 2 (D + Dv) operations for each pair of a query head's row and a key, half of the\n"
    "pairs if causal and Sq = Skv, else those that the mask leaves. peak is the best of a loop in\n"
    "registers on the unit that computes the products (fma: the vectors' multiply-adds; dot, "
    "tile:\n"
    "units for bf16), run in turns with attention on as many threads; share is GF/s over peak, "
    "best\n"
    "over best. Where the median of the peaks stays more than 5% below the best, the clock moved "
    "or\n"
    "something else ran: the run is tried again, up to 3 times, and marked * if that never helps.\n"
    "Before it is timed, every result is checked on 16 rows against the oracle; a wrong one is\n"
    "exit code 1.\n"
    "\n"
    "--compare shows below each row what it was in an earlier --json FILE: the ratio now / before\n"
    "of the least times and of the shares. A change of the clock moves times and leaves shares.\n"
    "Rows that are worse by more than 3% are marked; that is no error, and short calls wander by\n"
    "more without many --repeats. Without --shape, --mask, --dtype and --threads the rows of FILE\n"
    "are measured again, and as often as then.\n"
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
    "  regard bench --shape 1x8x2048x64,1x8x4096x64 --dtype f32,f64 --threads 1,2\n"
    "  regard bench --shape 1x32/8x2048x128 --mask causal,window:255,0 --json before.json\n"
    "  regard bench --compare before.json\n"
    "  regard bench options --repeats 10\n";

struct BenchFlags {
  std::string what;  ///< "", "options" or "decode"
  std::vector<BenchShape> shapes;
  std::vector<BenchMask> masks;
  std::vector<DType> dtypes;
  std::vector<std::int64_t> threads;
  std::optional<std::int64_t> repeats, runs;
  std::string json, compare;
  DecodeFlags decode;

  bool no_grid() const {
    return shapes.empty() && masks.empty() && dtypes.empty() && threads.empty();
  }
};

const std::vector<BenchShape> kShapes = {{1, 8, 8, 1024, 1024, 64, 64},
                                         {1, 8, 8, 1024, 1024, 128, 128},
                                         {1, 4, 4, 4096, 4096, 128, 128},
                                         {1, 1, 1, 16384, 16384, 64, 64}};
const std::vector<BenchMask> kMasks = {{}, {Causal::top_left, {}}};
const BenchShape kOptionsShape = {1, 2, 2, 2048, 2048, 64, 64};

template <class T>
std::vector<T> or_else(const std::vector<T>& given, const std::vector<T>& absent) {
  return given.empty() ? absent : given;
}

int bounded(const char* name, std::int64_t value, int lowest, int highest) {
  if (value < lowest || value > highest) {
    throw Error(fmt::format("{}: {} is not in [{}, {}]", name, value, lowest, highest));
  }
  return int(value);
}

int thread_count(std::int64_t given) {
  const int threads = bounded("--threads", given, 0, kMostThreads);
  return threads == 0 ? Context().threads() : threads;
}

Effort effort_of(const BenchFlags& flags, const Effort& absent) {
  return {bounded("--repeats", flags.repeats.value_or(absent.repeats), 1, 1'000'000),
          bounded("--runs", flags.runs.value_or(absent.runs), 1, 1000)};
}

/// All combinations, types and threads varying least; none twice.
std::vector<Workload> grid_of(const BenchFlags& flags) {
  std::vector<Workload> grid;
  std::unordered_set<std::string> keys;
  for (const DType dtype : or_else(flags.dtypes, {DType::f32})) {
    for (const std::int64_t given : or_else(flags.threads, {1})) {
      const int threads = thread_count(given);
      for (const BenchShape& shape : or_else(flags.shapes, kShapes)) {
        for (const BenchMask& mask : or_else(flags.masks, kMasks)) {
          const Workload workload = {shape, mask, dtype, threads};
          if (keys.insert(key_of(workload)).second) grid.push_back(workload);
        }
      }
    }
  }
  return grid;
}

std::vector<Workload> grid_of(const BenchRecord& record) {
  std::vector<Workload> grid;
  for (const BenchRow& row : record.rows) grid.push_back(row.workload);
  return grid;
}

int bench_grid(const BenchFlags& flags, JsonFile* json) {
  std::optional<Earlier> earlier;
  if (!flags.compare.empty()) {
    earlier.emplace(flags.compare, read_record("--compare", flags.compare));
  }
  const std::vector<Workload> grid =
      earlier && flags.no_grid() ? grid_of(earlier->record()) : grid_of(flags);
  const Effort effort = effort_of(flags, earlier ? earlier->record().effort : Effort());
  BenchRecord record = record_here(effort);
  BenchTable table(grid, earlier ? &*earlier : nullptr);
  const bool shown = !json || !json->is_stdout();
  if (shown) table.print_head(record);
  Report report;
  for (const Workload& workload : grid) {
    BenchRow row = {workload, measure_speed(workload, effort), {}};
    if (earlier) row.comparison = earlier->compare(workload, row.speed);
    if (shown) table.print(row);
    report.count(row.speed.right);
    record.rows.push_back(std::move(row));
  }
  if (shown) table.print_foot();
  if (json) json->write(json_text(record));
  return report.exit_code();
}

int bench_the_options(const BenchFlags& flags, JsonFile* json) {
  const auto refuse = [](bool given, const char* sentence) {
    if (given) throw Error(sentence);
  };
  refuse(!flags.dtypes.empty(), "--dtype: 'bench options' is f32");
  refuse(!flags.masks.empty(), "--mask: 'bench options' has masks of its own");
  refuse(flags.runs.has_value(), "--runs: 'bench options' makes one run; give it more --repeats");
  refuse(!flags.compare.empty(), "--compare: it belongs to 'bench' without options");
  refuse(flags.shapes.size() > 1 || flags.threads.size() > 1,
         "'bench options' takes one --shape and one --threads");
  Workload workload;
  workload.shape = flags.shapes.empty() ? kOptionsShape : flags.shapes.front();
  if (!workload.shape.plain()) {
    throw Error(
        fmt::format("--shape: '{}' has queries unlike its keys; 'bench options' takes BxHxSxD",
                    text_of(workload.shape)));
  }
  workload.threads = thread_count(flags.threads.empty() ? 1 : flags.threads.front());
  return bench_options(workload, effort_of(flags, {}).repeats, json);
}

int bench_the_decode(const BenchFlags& flags, JsonFile* json) {
  const auto refuse = [](bool given, const char* name) {
    if (given) throw Error(fmt::format("{}: 'bench decode' has flags of its own", name));
  };
  refuse(!flags.shapes.empty(), "--shape");
  refuse(!flags.masks.empty(), "--mask");
  refuse(!flags.dtypes.empty(), "--dtype");
  refuse(flags.runs.has_value(), "--runs");
  refuse(!flags.compare.empty(), "--compare");
  std::vector<std::int64_t> threads;
  for (const std::int64_t given : or_else(flags.threads, {1})) {
    threads.push_back(thread_count(given));
  }
  return bench_decode(flags.decode, threads, effort_of(flags, {.repeats = 15}).repeats, json);
}

int run(const BenchFlags& flags) {
  const bool options = flags.what == "options", decode = flags.what == "decode";
  if (!options && !decode && !flags.what.empty()) {
    throw Error(fmt::format("'{}' is neither 'options' nor 'decode', the other tables{}",
                            flags.what, did_you_mean(flags.what, {"options", "decode"})));
  }
  if (const char* name = flags.decode.given(); name && !decode) {
    throw Error(fmt::format("{}: it belongs to 'bench decode'", name));
  }
  std::optional<JsonFile> json;
  if (!flags.json.empty()) json.emplace("--json", flags.json);
  JsonFile* const file = json ? &*json : nullptr;
  if (decode) return bench_the_decode(flags, file);
  return options ? bench_the_options(flags, file) : bench_grid(flags, file);
}

template <class T>
void append(std::vector<T>& to, const std::vector<T>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

void add_grid_flags(CLI::App& app, BenchFlags& flags) {
  begin_group(app, kGridGroup);
  add_each_value(app,
                 {"--shape", "BxHxSxD,...",
                  "default a list of four, for options 1x2x2048x64; Hq/Hkv, Sq/Skv and D/Dv where "
                  "queries and keys differ"},
                 [&flags](const std::string& text) {
                   for (const std::string& shape : split(text, ',')) {
                     flags.shapes.push_back(parse_shape("--shape", shape));
                   }
                 });
  add_each_value(
      app,
      {"--mask", "MASK,...",
       "plain, causal (top_left), bottom_right, or window:L,R as --window of run; "
       "default plain,causal"},
      [&flags](const std::string& text) { append(flags.masks, parse_masks("--mask", text)); });
  add_each_value(app,
                 {"--dtype", "DTYPE,...", "type of the elements: f32 (default), f64, f16, bf16"},
                 [&flags](const std::string& text) {
                   for (const std::string& dtype : split(text, ',')) {
                     flags.dtypes.push_back(parse_dtype("--dtype", dtype));
                   }
                 });
  add_integer(app, {"--runs", "N", "measure each row N times and keep the best; default 1"},
              flags.runs);
  add_text(app, {"--compare", "FILE", "set the rows beside those of an earlier --json FILE"},
           flags.compare);
}

}  // namespace

Command add_bench(CLI::App& program) {
  const auto flags = std::make_shared<BenchFlags>();
  CLI::App* app = add_command(program, "bench", "speed, and its share of the machine's peak");
  begin_group(*app, "Flags");
  add_word(*app, "what", "'options', 'decode', or nothing", flags->what);
  add_grid_flags(*app, *flags);
  add_decode_flags(*app, flags->decode);
  begin_group(*app, kMeasuredGroup);
  add_each_value(*app, {"--threads", "N,...", "default 1; 0: all"},
                 [flags](const std::string& text) {
                   append(flags->threads, parse_integers("--threads", text, ','));
                 });
  add_integer(*app, {"--repeats", "N", "turns of the two; default 5, of 'decode' 15"},
              flags->repeats);
  begin_group(*app, kFilesGroup);
  add_text(*app, {"--json", "FILE", "all numbers for programs; - is standard output, alone"},
           flags->json);
  const auto help = [flags]() -> Page {
    if (flags->what == "decode") return decode_page({kMeasuredGroup, kFilesGroup});
    return {kUsage, kMore, {kGridGroup, kMeasuredGroup, kFilesGroup}};
  };
  return {app, help, [flags] { return run(*flags); }};
}

}  // namespace regard::cli

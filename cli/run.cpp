// regard run: attention of arrays in files.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "arrays.h"
#include "command.h"
#include "flags.h"
#include "interrupt.h"
#include "options.h"
#include "regard/attention.h"
#include "text.h"

namespace regard::cli {
namespace {

constexpr char kUsage[] = "run Q.npy K.npy V.npy -o OUT.npy [FLAGS]\n       regard run QKV.npz ...";
constexpr char kMore[] =
    "Query head h reads KV head floor(h Hkv / Hq), so k and v may have fewer heads than q.\n"
    "Files appear complete or not at all.\n"
    "\n"
    "Examples:\n"
    "  regard run q.npy k.npy v.npy -o out.npy --causal bottom_right\n"
    "  regard run model.safetensors --names q=query,k=key,v=value -o out.npz --return-lse\n"
    "  regard run qkv.npz -o out.npz --return-weights --rows 0,5,7\n"
    "  regard run qkv.npz --explain\n";

struct RunFlags {
  InputFlags input;
  AttentionFlags attention;
  std::string out;
  std::optional<DType> out_dtype;
  bool return_lse = false, return_weights = false, stats = false, explain = false;
};

/// What is asked for; an absent part has no shape.
struct Results {
  Result out, lse, weights;

  Outputs outputs() const { return {out.tensor, lse.tensor, weights.tensor}; }
};

bool ends_in(const std::string& path, const std::string& ending) {
  return path.size() > ending.size() && path.ends_with(ending);
}

void refuse_contradictions(const RunFlags& flags) {
  if (flags.stats) throw Error("stats: this version does not serve it yet");
  if (flags.out.empty() && !flags.explain) {
    throw Error("nothing to do; give -o OUT.npy, or --explain");
  }
  if (ends_in(flags.out, ".safetensors")) {
    throw Error(
        fmt::format("-o: '{}' is a .safetensors file; .npy and .npz can be written", flags.out));
  }
  if (!flags.attention.rows.empty() && !flags.return_weights) {
    throw Error("--rows: it picks rows of the weights; add --return-weights");
  }
}

struct Shapes {
  Shape out, lse, weights;
};

Shapes result_shapes(const Inputs& in, const RunFlags& flags) {
  const std::int64_t rows =
      flags.attention.rows.empty() ? in.q.shape[2] : std::int64_t(flags.attention.rows.size());
  const auto [batch, heads, sq, d] = in.q.shape;
  return {.out = {batch, heads, sq, in.v.shape[3]},
          .lse = {batch, heads, sq, 1},
          .weights = {batch, heads, rows, in.k.shape[2]}};
}

/// The library's answer to the call, asked before memory is taken: no tensor memory is touched,
/// so one byte stands for all.
Explanation explain_call(const Context& context, const Inputs& in, const RunFlags& flags,
                         const Options& options) {
  static std::byte memory{};
  const Shapes shapes = result_shapes(in, flags);
  const DType dtype = in.q.dtype;
  const auto wanted = [&](const Shape& shape, DType type) {
    return Tensor{&memory, type, shape, dense_strides(shape)};
  };
  Outputs outputs{
      .out = wanted(shapes.out, flags.out_dtype.value_or(dtype)), .lse = {}, .weights = {}};
  if (flags.return_lse) outputs.lse = wanted(shapes.lse, dtype);
  if (flags.return_weights) outputs.weights = wanted(shapes.weights, dtype);
  Explanation explanation;
  require(explain(context, in.q, in.k, in.v, outputs, options, explanation));
  return explanation;
}

void print_explanation(const Explanation& e) {
  const auto path = std::ranges::find(path_names(), e.path, &Choices<Path>::value_type::second);
  fmt::print("path     {}, {}\n", path->first, e.path_reason);
  fmt::print("isa      {}, {}\n", e.isa, e.isa_reason);
  fmt::print("threads  {}\n", e.threads);
  fmt::print("tile     {} query rows x {} keys; accumulators every {} keys\n", e.rows_per_tile,
             e.keys_per_tile, e.keys_per_block);
  fmt::print("work     {} item{} of up to {} query rows", e.main_items,
             e.main_items == 1 ? "" : "s", e.rows_per_item);
  if (e.weights_items > 0) fmt::print(", and {} for the weights of chosen rows", e.weights_items);
  const double share = e.tiles_total == 0 ? 0 : double(e.tiles_visited) / double(e.tiles_total);
  fmt::print("\nvisited  {} of {} tiles ({:.1f}%)\n", e.tiles_visited, e.tiles_total, 100 * share);
  fmt::print("scratch  {}\n", bytes_text(e.scratch_bytes));
}

Results make_results(const Inputs& in, const RunFlags& flags) {
  const Shapes shapes = result_shapes(in, flags);
  const DType dtype = in.q.dtype;
  Results results;
  results.out = make_result("out", shapes.out, dtype, tensor_axes(in.rank, in.layout));
  if (flags.return_lse) results.lse = make_result("lse", shapes.lse, dtype, lse_axes(in.rank));
  if (flags.return_weights) {
    results.weights = make_result("weights", shapes.weights, dtype, weights_axes(in.rank));
  }
  return results;
}

/// "out.npy" and "lse" give "out_lse.npy".
std::string beside(const std::string& path, const std::string& name) {
  const std::string ending = ends_in(path, ".npy") ? ".npy" : "";
  return path.substr(0, path.size() - ending.size()) + "_" + name + ending;
}

void say_written(const std::string& path, const io::NamedArray& named) {
  // Lines of text have no place in an array that goes to standard output.
  if (path.starts_with("/dev/")) return;
  fmt::print("{}: {} {} {}\n", path, named.name, shape_text(named.array.shape),
             dtype_name(named.array.dtype));
}

void write_results(const Results& results, const std::string& path) {
  std::vector<io::NamedArray> arrays = {{"out", results.out.array}};
  if (results.lse.array.data) arrays.push_back({"lse", results.lse.array});
  if (results.weights.array.data) arrays.push_back({"weights", results.weights.array});
  if (ends_in(path, ".npz")) {
    require(io::write_npz(path, arrays));
    for (const io::NamedArray& named : arrays) say_written(path, named);
    return;
  }
  for (const io::NamedArray& named : arrays) {
    const std::string file = named.name == "out" ? path : beside(path, named.name);
    require(io::write_npy(file, named.array));
    say_written(file, named);
  }
}

int run(const RunFlags& flags) {
  refuse_contradictions(flags);
  Options options = flags.attention.options();
  const Inputs inputs = load_inputs(flags.input);
  options.cancel = stop_requested;
  const Context context(options.threads > 0 ? options.threads : 0);
  const Explanation explanation = explain_call(context, inputs, flags, options);
  if (flags.explain) print_explanation(explanation);
  if (flags.out.empty()) return kFine;
  const Results results = make_results(inputs, flags);
  {
    const Cancellable cancellable;
    require(forward(context, inputs.q, inputs.k, inputs.v, results.outputs(), options));
  }
  write_results(results, flags.out);
  return kFine;
}

void add_output_flags(CLI::App& app, RunFlags& flags) {
  app.option_defaults()->group("Outputs");
  add_text(app, {"-o,--out", "FILE", "where out goes: .npy, or .npz for everything in one file"},
           flags.out);
  add_switch(app, "--return-lse",
             "also the natural log of each row's sum, as lse in the .npz or OUT_lse.npy beside",
             flags.return_lse);
  add_switch(app, "--return-weights",
             "also the weights, as weights or OUT_weights.npy; they cost Sq x Skv a head",
             flags.return_weights);
  add_integers(app, {"--rows", "I,...", "query rows whose weights are wanted; default all"},
               flags.attention.rows);
  add_choice<std::optional<DType>>(
      app, "--out-dtype", "type of out; this version gives that of the inputs",
      {{"f32", DType::f32}, {"f64", DType::f64}, {"f16", DType::f16}, {"bf16", DType::bf16}},
      flags.out_dtype);
  add_switch(app, "--stats", "entropy and top keys of each row; not served by this version",
             flags.stats);
  add_switch(app, "--explain",
             "print how it is computed: loop, instruction set, threads, tiles, memory; without -o "
             "nothing else is done",
             flags.explain);
  app.option_defaults()->group("Flags");
}

}  // namespace

Command add_run(CLI::App& program) {
  const auto flags = std::make_shared<RunFlags>();
  CLI::App* app = program.add_subcommand("run", "attention of arrays in files");
  add_input_flags(*app, flags->input);
  add_output_flags(*app, *flags);
  add_meaning_flags(*app, flags->attention);
  add_engine_flags(*app, flags->attention);
  return {app, kUsage, kMore, [flags] { return run(*flags); }};
}

}  // namespace regard::cli

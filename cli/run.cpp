// regard run: attention of arrays in files.
#include <fmt/core.h>

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
    "The FILE of --mask, --bias, --alibi-slopes and --sinks may be NAME:FILE, which is the array\n"
    "NAME of a .npz or .safetensors file; without NAME it is the only array of the file, or the "
    "one\n"
    "called mask, bias, alibi_slopes or sinks.\n"
    "Files appear complete or not at all.\n"
    "\n"
    "Examples:\n"
    "  regard run q.npy k.npy v.npy -o out.npy --causal bottom_right\n"
    "  regard run model.safetensors --names q=query,k=key,v=value -o out.npz --return-lse\n"
    "  regard run qkv.npz -o out.npz --mask padding:masks.npz --softcap 30\n"
    "  regard run qkv.npz -o out.npz --return-weights --rows 0,5,7\n"
    "  regard run qkv.npz -o out.npz --stats --top 3\n"
    "  regard run qkv.npz --explain\n";

/// Top keys of a row that --stats gives where --top does not say.
constexpr std::int64_t kTop = 5;

struct RunFlags {
  InputFlags input;
  AttentionFlags attention;
  std::string out;
  std::optional<DType> out_dtype;
  std::optional<std::int64_t> top;
  std::optional<Stage> weights_stage;
  bool return_lse = false, return_weights = false, stats = false, explain = false;
};

bool ends_in(const std::string& path, const std::string& ending) {
  return path.size() > ending.size() && path.ends_with(ending);
}

/// Devices and pipes; /dev/shm holds files.
bool is_stream(const std::string& path) {
  return path == "-" || (path.starts_with("/dev/") && !path.starts_with("/dev/shm/"));
}

void refuse_contradictions(const RunFlags& flags) {
  if (flags.out.empty() && !flags.explain) {
    throw Error("nothing to do; give -o OUT.npy, or --explain");
  }
  const bool more_than_out = flags.return_lse || flags.return_weights || flags.stats;
  if (is_stream(flags.out) && (more_than_out || flags.explain)) {
    throw Error(
        fmt::format("-o: '{}' takes out and nothing else; name a file for the rest", flags.out));
  }
  if (ends_in(flags.out, ".safetensors")) {
    throw Error(
        fmt::format("-o: '{}' is a .safetensors file; .npy and .npz can be written", flags.out));
  }
  if (!flags.attention.rows.empty() && !flags.return_weights) {
    throw Error("--rows: it picks rows of the weights; add --return-weights");
  }
  if (flags.weights_stage && !flags.return_weights) {
    throw Error("--weights-stage: it says what the weights are; add --return-weights");
  }
  if (flags.top && !flags.stats) throw Error("--top: it belongs to the statistics; add --stats");
}

/// A result that is asked for: its place in the call, and what its file is like.
struct Wanted {
  const char* name;
  Tensor Outputs::*place;
  Shape shape;
  DType dtype;
  Axes axes;
};

std::vector<Wanted> wanted_results(const Inputs& in, const RunFlags& flags) {
  const auto [batch, heads, sq, d] = in.q.shape;
  const std::int64_t skv = in.k.shape[2], top = flags.top.value_or(kTop);
  const auto chosen = std::int64_t(flags.attention.rows.size());
  const DType compute = compute_type(in.q.dtype);
  const Axes per_row = lse_axes(in.rank), per_pair = weights_axes(in.rank);
  std::vector<Wanted> wanted = {{"out",
                                 &Outputs::out,
                                 {batch, heads, sq, in.v.shape[3]},
                                 flags.out_dtype.value_or(in.q.dtype),
                                 tensor_axes(in.rank, in.layout)}};
  const auto add = [&](const char* name, Tensor Outputs::*place, const Shape& shape, DType dtype,
                       const Axes& axes) {
    wanted.push_back({name, place, shape, dtype, axes});
  };
  if (flags.return_lse) add("lse", &Outputs::lse, {batch, heads, sq, 1}, compute, per_row);
  if (flags.return_weights) {
    const std::int64_t rows = chosen == 0 ? sq : chosen;
    add("weights", &Outputs::weights, {batch, heads, rows, skv}, compute, per_pair);
  }
  if (flags.stats) {
    add("entropy", &Outputs::entropy, {batch, heads, sq, 1}, compute, per_row);
    add("top_weights", &Outputs::top_weights, {batch, heads, sq, top}, compute, per_pair);
    add("top_keys", &Outputs::top_keys, {batch, heads, sq, top}, DType::i64, per_pair);
    add("key_mass", &Outputs::key_mass, {batch, heads, 1, skv}, compute, key_axes(in.rank));
  }
  return wanted;
}

/// The library's answer to the call, asked before memory is taken: no tensor memory is touched,
/// so one number stands for all.
Explanation explain_call(const Context& context, const Inputs& in,
                         const std::vector<Wanted>& wanted, const Options& options) {
  static double memory{};
  Outputs outputs;
  for (const Wanted& one : wanted) {
    outputs.*one.place = {&memory, one.dtype, one.shape, dense_strides(one.shape)};
  }
  Explanation explanation;
  require(explain(context, in.q, in.k, in.v, outputs, options, explanation));
  return explanation;
}

/// "out.npy" and "lse" give "out_lse.npy".
std::string beside(const std::string& path, const std::string& name) {
  const std::string ending = ends_in(path, ".npy") ? ".npy" : "";
  return path.substr(0, path.size() - ending.size()) + "_" + name + ending;
}

void say_written(const std::string& path, const io::NamedArray& named) {
  // Lines of text have no place in an array that goes to standard output.
  if (is_stream(path)) return;
  fmt::print("{}: {} {} {}\n", path, named.name, shape_text(named.array.shape),
             dtype_name(named.array.dtype));
}

void write_results(const std::vector<io::NamedArray>& arrays, const std::string& path) {
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
  options.weights_stage = flags.weights_stage.value_or(Stage::softmax);
  options.cancel = stop_requested;
  const Inputs in = load_inputs(flags.input);
  const Context context(options.threads > 0 ? options.threads : 0);
  const std::vector<Wanted> wanted = wanted_results(in, flags);
  const Explanation explanation = explain_call(context, in, wanted, options);
  if (flags.explain) fmt::print("{}", to_text(explanation));
  if (flags.out.empty()) return kFine;
  Outputs outputs;
  std::vector<io::NamedArray> arrays;
  for (const Wanted& one : wanted) {
    Result result = make_result(one.name, one.shape, one.dtype, one.axes);
    outputs.*one.place = result.tensor;
    arrays.push_back({one.name, std::move(result.array)});
  }
  {
    const Cancellable cancellable;
    require(forward(context, in.q, in.k, in.v, outputs, options));
  }
  write_results(arrays, flags.out == "-" ? "/dev/stdout" : flags.out);
  return kFine;
}

void add_output_flags(CLI::App& app, RunFlags& flags) {
  begin_group(app, "Outputs");
  add_text(app,
           {"-o,--out", "FILE",
            "where out goes: .npy, or .npz for everything in one file; - is "
            "standard output"},
           flags.out);
  add_switch(app, "--return-lse",
             "also the natural log of each row's sum, as lse in the .npz or OUT_lse.npy beside",
             flags.return_lse);
  add_switch(app, "--return-weights",
             "also the weights, as weights or OUT_weights.npy; they cost Sq x Skv a head",
             flags.return_weights);
  add_integers(app, {"--rows", "I,...", "query rows whose weights are wanted; default all"},
               flags.attention.rows);
  add_choice<std::optional<Stage>>(app, "--weights-stage",
                                   "what is stored as weights: softmax (default) the weights; "
                                   "scaled, capped, biased the scores on the way to them",
                                   {{"softmax", Stage::softmax},
                                    {"scaled", Stage::scaled},
                                    {"capped", Stage::capped},
                                    {"biased", Stage::biased}},
                                   flags.weights_stage);
  add_choice<std::optional<DType>>(
      app, "--out-dtype", "type of out; default that of q",
      {{"f32", DType::f32}, {"f64", DType::f64}, {"f16", DType::f16}, {"bf16", DType::bf16}},
      flags.out_dtype);
  add_switch(app, "--stats",
             "also each row's entropy, its largest weights and their keys, and the sum of each "
             "key's weights, as entropy, top_weights, top_keys and key_mass or OUT_entropy.npy ...",
             flags.stats);
  add_integer(app, {"--top", "N", "with --stats, how many of the largest weights; default 5"},
              flags.top);
  add_switch(app, "--explain",
             "print how it is computed: loop, instruction set, threads, tiles, memory; without -o "
             "nothing else is done",
             flags.explain);
  begin_group(app, "Flags");
}

}  // namespace

Command add_run(CLI::App& program) {
  const auto flags = std::make_shared<RunFlags>();
  CLI::App* app = add_command(program, "run", "attention of arrays in files");
  add_input_flags(*app, flags->input);
  add_output_flags(*app, *flags);
  add_meaning_flags(*app, flags->attention);
  add_engine_flags(*app, flags->attention);
  return {app, [] { return Page{kUsage, kMore}; }, [flags] { return run(*flags); }};
}

}  // namespace regard::cli

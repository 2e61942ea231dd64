// regard check: judges a result in files against the oracle, whoever computed it.
#include "regard/check.h"

#include <fmt/core.h>

#include <memory>

#include "arrays.h"
#include "check_json.h"
#include "check_kv.h"
#include "command.h"
#include "flags.h"
#include "interrupt.h"
#include "options.h"
#include "progress_bar.h"

namespace regard::cli {
namespace {

constexpr char kUsage[] =
    "check Q.npy K.npy V.npy --out THEIRS.npy [FLAGS]\n"
    "       regard check Q.npy K.npy V.npy --kv TYPE [FLAGS]\n       regard check QKV.npz ...";
constexpr char kMore[] =
    "Every row is computed again in f64 with compensated sums. What each weight may suffer in a\n"
    "kernel of that type that sums its keys in blocks follows from its own score and distance "
    "from\n"
    "the row's largest; each element may differ by what that makes of the row's values. Derived "
    "in\n"
    "docs/numerics.md. Above 1 unit of this bound a row fails, and the exit code is 1. A result "
    "that\n"
    "fails is tried against the conventions that other kernels follow, one and two at a time; the\n"
    "one that fits a sample of its rows is named.\n"
    "\n"
    "With --kv no result is judged: it says what storing K and V in a cache does to each head and\n"
    "row, in f64 on both sides. The error of out is relative, |o' - o| / |o|. A logit shift is "
    "the\n"
    "largest |s' - s| over a row's keys, after scale and softcap. Entropies are in nats; below 0 "
    "a\n"
    "row looks at fewer keys. The weight moved is sum |p' - p| / 2. The exit code is 0.\n"
    "\n"
    "Examples:\n"
    "  regard check q.npy k.npy v.npy --out theirs.npy --lse theirs_lse.npy\n"
    "  regard check qkv.npz --causal bottom_right --out theirs.npz --rows 1000 --seed 1\n"
    "  regard check qkv.npz --out theirs.npy --json\n"
    "  regard check qkv.npz --causal top_left --kv int8\n"
    "  regard check qkv.npz --kv f16,int8,int8/q4_0\n";

struct CheckFlags {
  InputFlags input;
  AttentionFlags attention;
  std::string out, lse, weights;
  std::vector<KvTypes> kv;
  std::optional<std::int64_t> rows, seed, worst;
  bool json = false;
};

/// A result in files and what it answers.
struct Theirs {
  std::vector<io::Array> owners;  ///< keep the memory of the views
  ConstTensor out, lse, weights;
};

CheckReport judge(const Inputs& in, const Options& options, const Theirs& theirs,
                  const CheckFlags& flags) {
  CheckSettings settings;
  settings.rows = flags.rows.value_or(0);
  settings.seed = std::uint64_t(flags.seed.value_or(0));
  settings.worst_rows = flags.worst.value_or(5);
  settings.weights = theirs.weights;
  CheckReport report;
  const Cancellable cancellable;
  ProgressBar bar;  // goes first, so that its line is clean when the program ends
  settings.progress = [&](std::int64_t done, std::int64_t total) {
    bar.show(done, total);
    return !stop_requested();
  };
  require(check(in.q, in.k, in.v, options, theirs.out, theirs.lse, settings, report));
  return report;
}

void print_convention(const CheckReport& report) {
  if (report.passed) return;
  const Convention& found = report.convention;
  if (found.name.empty()) {
    fmt::print("      matches no other convention that is known\n");
    return;
  }
  fmt::print("      matches with {}: {}\n", found.name, found.sentence);
}

/// "12", a column of out; "lse"; "p[12]", the weight of a key.
std::string place_text(const RowVerdict& row) {
  if (row.what == RowVerdict::What::lse) return "lse";
  return row.what == RowVerdict::What::weights ? fmt::format("p[{}]", row.d)
                                               : std::to_string(row.d);
}

void print_verdict(const CheckReport& report, std::int64_t rows_in_all, DType dtype) {
  fmt::print("{}  {} of {} rows checked, {} outside the bound\n", report.passed ? "PASS" : "FAIL",
             report.rows_checked, rows_in_all, report.rows_failed);
  fmt::print("      worst error {:.3g} of its bound; rms error {:.3g}\n", report.worst_units,
             report.rms_error);
  print_convention(report);
  if (report.worst.empty()) return;
  const int digits = dtype == DType::f64 ? 17 : 9;
  const int width = digits + 7;
  fmt::print("\nworst rows\n  {:>4} {:>4} {:>8} {:>8} {:>{}} {:>{}} {:>10} {:>10} {:>10}\n", "b",
             "h", "i", "d", "expected", width, "actual", width, "error", "bound", "units");
  for (const RowVerdict& row : report.worst) {
    fmt::print("  {:>4} {:>4} {:>8} {:>8} {:>{}.{}g} {:>{}.{}g} {:>10.3g} {:>10.3g} {:>10.3g}\n",
               row.b, row.h, row.i, place_text(row), row.expected, width, digits, row.actual, width,
               digits, row.error, row.bound, row.units);
  }
}

Theirs load_theirs(const CheckFlags& flags, const Inputs& inputs) {
  Theirs theirs;
  const auto load = [&](const std::string& path, const char* name) -> const io::Array& {
    return theirs.owners.emplace_back(load_array(path, name));
  };
  theirs.out = view_of(load(flags.out, "out"), "out", tensor_axes(inputs.rank, inputs.layout));
  if (!flags.lse.empty()) {
    const io::Array& lse = load(flags.lse, "lse");
    // (B, H, S, 1) is as good as (B, H, S).
    const bool has_last_axis = lse.shape.size() == inputs.rank && lse.shape.back() == 1;
    theirs.lse =
        view_of(lse, "lse", has_last_axis ? weights_axes(inputs.rank) : lse_axes(inputs.rank));
  }
  if (!flags.weights.empty()) {
    theirs.weights = view_of(load(flags.weights, "weights"), "weights", weights_axes(inputs.rank));
  }
  return theirs;
}

int report_types(const CheckFlags& flags) {
  if (!flags.out.empty() || !flags.lse.empty() || !flags.weights.empty()) {
    throw Error("--kv: given beside a result to judge; leave out --kv, or --out, --lse, --weights");
  }
  const std::int64_t worst = flags.worst.value_or(5);
  if (worst < 0) throw Error(fmt::format("--worst: {} is below 0", worst));
  const Options options = flags.attention.options();
  const Inputs inputs = load_inputs(flags.input);
  report_kv_types({.inputs = inputs,
                   .options = options,
                   .types = flags.kv,
                   .rows = flags.rows.value_or(0),
                   .seed = std::uint64_t(flags.seed.value_or(0)),
                   .worst_rows = worst},
                  flags.json);
  return kFine;
}

int run(const CheckFlags& flags) {
  if (!flags.kv.empty()) return report_types(flags);
  if (flags.out.empty())
    throw Error("--out: missing; it names the result to judge (--kv TYPE needs none)");
  const Options options = flags.attention.options();
  const Inputs inputs = load_inputs(flags.input);
  const Theirs theirs = load_theirs(flags, inputs);
  const ConstTensor& out = theirs.out;
  const CheckReport report = judge(inputs, options, theirs, flags);
  const std::int64_t rows_in_all = out.shape[0] * out.shape[1] * out.shape[2];
  if (flags.json) {
    fmt::print("{}\n", json_text(report, {inputs, options, out.dtype, rows_in_all}));
  } else {
    print_verdict(report, rows_in_all, out.dtype);
  }
  return report.passed ? kFine : kCheckFailed;
}

}  // namespace

Command add_check(CLI::App& program) {
  const auto flags = std::make_shared<CheckFlags>();
  CLI::App* app = add_command(program, "check",
                              "judges anyone's result, or the types of a KV cache, by the oracle");
  add_input_flags(*app, flags->input);
  begin_group(*app, "What is judged");
  add_text(*app, {"--out", "FILE", "the result, of the rank and layout of q"}, flags->out);
  add_text(*app, {"--lse", "FILE", "its log-sum-exp (B,H,S), judged too"}, flags->lse);
  add_text(*app, {"--weights", "FILE", "its weights (B,H,S,Skv), judged too"}, flags->weights);
  add_kv_flag(*app, flags->kv);
  add_integer(*app, {"--rows", "N", "a sample of N rows over all heads; default all of them"},
              flags->rows);
  add_integer(*app, {"--seed", "N", "which sample; default 0"}, flags->seed);
  add_integer(*app, {"--worst", "N", "how many of the worst rows to show; default 5"},
              flags->worst);
  add_switch(*app, "--json",
             "the verdict for programs, with what the bound is made of, or the report of --kv",
             flags->json);
  begin_group(*app, "Flags");
  add_meaning_flags(*app, flags->attention);
  add_choice<Precision>(*app, "--precision",
                        "default leaves half types room for weights rounded to them, high does not",
                        named(precision_name, {Precision::default_, Precision::high}),
                        flags->attention.precision);
  return {app, [] { return Page{kUsage, kMore}; }, [flags] { return run(*flags); }};
}

}  // namespace regard::cli

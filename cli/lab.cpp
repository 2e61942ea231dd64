// regard lab: the flags of the two labs.
#include "lab.h"

#include <fmt/core.h>

#include <memory>

#include "command.h"
#include "flags.h"

namespace regard::cli {
namespace {

constexpr char kUsage[] = "lab [FLAGS]\n       regard lab --blocked [--block N]";
constexpr char kMore[] =
    "The causal lab computes softmax(x Wq (x Wk)' / sqrt(d_head)) x Wv, token i reading tokens 0\n"
    "to i, and checks three facts: rows of weights are weighted averages; editing the last token\n"
    "changes only the last output; without 1/sqrt(d_head) the softmax saturates.\n"
    "The blocked lab computes softmax(q k') v tile by tile with a running maximum and sum.\n"
    "In both the engine has to agree; a claim that fails is exit code 1.\n"
    "\n"
    "Examples:\n"
    "  regard lab --save lab.npz\n"
    "  regard lab --seed 7 --tokens 12 --d-model 32 --d-head 16\n"
    "  regard lab --no-scale\n"
    "  regard lab --blocked --block 3\n";

// The teaching forms keep whole tables, of this many squared numbers at most.
constexpr std::int64_t kLargest = 4096;

struct LabFlags {
  bool blocked = false, no_scale = false;
  std::optional<std::int64_t> block, seed, tokens, d_model, d_head;
  std::string save;
};

void refuse_sizes(const LabFlags& flags) {
  const std::pair<const char*, const std::optional<std::int64_t>&> sizes[] = {
      {"--tokens", flags.tokens}, {"--d-model", flags.d_model}, {"--d-head", flags.d_head}};
  for (const auto& [name, size] : sizes) {
    if (size.value_or(1) < 1 || size.value_or(1) > kLargest) {
      throw Error(fmt::format("{}: {} is not in [1, {}]", name, *size, kLargest));
    }
  }
}

void refuse_contradictions(const LabFlags& flags) {
  const std::pair<const char*, bool> causal[] = {{"--tokens", flags.tokens.has_value()},
                                                 {"--d-model", flags.d_model.has_value()},
                                                 {"--d-head", flags.d_head.has_value()},
                                                 {"--no-scale", flags.no_scale},
                                                 {"--save", !flags.save.empty()}};
  for (const auto& [name, given] : causal) {
    if (flags.blocked && given) {
      throw Error(fmt::format("{}: it belongs to the causal lab; leave --blocked out", name));
    }
  }
  if (flags.block && !flags.blocked) {
    throw Error("--block: it belongs to the blocked lab; add --blocked");
  }
  if (!flags.save.empty() && !flags.save.ends_with(".npz")) {
    throw Error(fmt::format("--save: '{}' does not end in .npz", flags.save));
  }
}

int run(const LabFlags& flags) {
  refuse_contradictions(flags);
  refuse_sizes(flags);
  Report report;
  if (flags.blocked) {
    show_blocked_lab({flags.block, std::uint64_t(flags.seed.value_or(0))}, report);
  } else {
    show_causal_lab({.seed = flags.seed,
                     .tokens = flags.tokens,
                     .d_model = flags.d_model,
                     .d_head = flags.d_head,
                     .scale = !flags.no_scale,
                     .save = flags.save},
                    report);
  }
  return report.exit_code();
}

}  // namespace

Command add_lab(CLI::App& program) {
  const auto flags = std::make_shared<LabFlags>();
  CLI::App* app = add_command(program, "lab", "the two teaching programs, their facts checked");
  begin_group(*app, "The causal lab");
  add_integer(*app, {"--seed", "N", "a random lab of this seed; default: the shipped input"},
              flags->seed);
  add_integer(*app, {"--tokens", "N", "its tokens; default 6"}, flags->tokens);
  add_integer(*app, {"--d-model", "N", "its width of x; default 16"}, flags->d_model);
  add_integer(*app, {"--d-head", "N", "its width of q, k and v; default 8"}, flags->d_head);
  add_switch(*app, "--no-scale", "leave 1/sqrt(d_head) out", flags->no_scale);
  add_text(*app, {"--save", "FILE.npz", "keep every array: x, wq, wk, wv, q, k, v, out, ..."},
           flags->save);
  begin_group(*app, "The blocked lab");
  add_switch(*app, "--blocked", "blocked against plain attention, at its own and other sizes",
             flags->blocked);
  add_integer(*app, {"--block", "N", "this block size everywhere; default 4 and many others"},
              flags->block);
  begin_group(*app, "Flags");
  return {app, [] { return Page{kUsage, kMore}; }, [flags] { return run(*flags); }};
}

}  // namespace regard::cli

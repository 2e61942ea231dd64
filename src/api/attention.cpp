#include "regard/attention.h"

#include "api/explanation.h"
#include "base/guard.h"
#include "dispatch/dispatch.h"
#include "plan/plan.h"
#include "problem/problem.h"
#include "run/run.h"

namespace regard {
namespace {

struct Inputs {
  const ConstTensor& q;
  const ConstTensor& k;
  const ConstTensor& v;
  const Sequences& sequences;
};

/// A checked call with its plan.
struct Prepared {
  problem::Problem problem;
  plan::Plan plan;
};

Status prepare(const Context& context, const Inputs& in, const Outputs& outputs,
               const Options& options, Prepared& prepared) {
  if (!context.state()) return {StatusCode::out_of_memory, "context: it could not be made"};
  const dispatch::Choice& choice = dispatch::chosen();
  if (!choice.status.ok()) return choice.status;
  Status status =
      problem::make_problem(in.q, in.k, in.v, outputs, options, prepared.problem, in.sequences);
  if (!status.ok()) return status;
  prepared.plan = plan::make_plan(prepared.problem, *choice.isa->table, context.threads());
  return {};
}

Status run_call(const Context& context, const Inputs& in, const Outputs& outputs,
                const Options& options) {
  Prepared prepared;
  Status status = prepare(context, in, outputs, options, prepared);
  if (status.ok()) {
    status = problem::check_memory(prepared.problem, prepared.plan.scratch_bytes);
  }
  if (!status.ok()) return status;
  return run::run_plan(prepared.problem, prepared.plan, options.cancel, *context.state());
}

const char* score_reason(const problem::Problem& p) {
  if (!plan::has_general_scores(p)) {
    return "plain: scale, causal, window, lengths and sinks cost no work a pair";
  }
  return p.mask.data || p.bias.data
             ? "general: mask and bias are scanned block by block, hidden tiles skipped"
             : "general: softcap or ALiBi on every pair";
}

const char* input_reason(const problem::Problem& p, const plan::Plan& plan) {
  if (plan.decode) return "in place where rows are dense, else copied by 16 keys";
  if (plan.path != Path::tiles) {
    return plan::converts_inputs(p) ? "a half type: each block converted to f32 once a work item"
                                    : "in place, at any stride";
  }
  if (p.k.strides[3] != 1 || p.d % plan.kernel->depth != 0) {
    return "K copied, V by pairs of keys, each block once a work item";
  }
  return plan.kernel->copies_partial
             ? "K in place where a tile is full; V by pairs of keys, each block once a work item"
             : "K in place; V by pairs of keys, each block once a work item";
}

Status explain_call(const Context& context, const Inputs& in, const Outputs& outputs,
                    const Options& options, Explanation& explanation) {
  Prepared prepared;
  Status status = prepare(context, in, outputs, options, prepared);
  if (!status.ok()) return status;
  const plan::Plan& plan = prepared.plan;
  const plan::TileCount tiles = plan::count_tiles(prepared.problem, plan);
  explanation = {
      .path = plan.path,
      .path_reason = plan.path_reason,
      .unit = plan.kernel->unit,
      .isa = dispatch::chosen().isa->name,
      .isa_reason = dispatch::chosen().reason,
      .threads = plan.workers,
      .rows_per_tile = plan.kernel->rows_per_group,
      .keys_per_tile = plan.kernel->keys_per_tile,
      .keys_per_block = plan.kernel->keys_per_block,
      .rows_per_item = plan.main.item_size,
      .main_items = plan.main.items,
      .weights_items = plan.weights.items,
      .mass_items = plan.mass.items,
      .tiles_visited = tiles.visited,
      .tiles_total = tiles.total,
      .scratch_bytes = plan.scratch_bytes,
      .passes = plan::count_passes(prepared.problem, plan),
      .score_reason = score_reason(prepared.problem),
      .input_reason = input_reason(prepared.problem, plan),
  };
  if (plan.decode) add_decode(*plan.decode, explanation);
  return {};
}

}  // namespace

Status forward(const Context& context, const ConstTensor& q, const ConstTensor& k,
               const ConstTensor& v, const Outputs& outputs, const Options& options) noexcept {
  return base::guarded([&] { return run_call(context, {q, k, v, {}}, outputs, options); });
}

Status forward_varlen(const Context& context, const ConstTensor& q, const ConstTensor& k,
                      const ConstTensor& v, const Sequences& sequences, const Outputs& outputs,
                      const Options& options) noexcept {
  return base::guarded([&]() -> Status {
    if (Status status = problem::require_sequences(sequences); !status.ok()) return status;
    return run_call(context, {q, k, v, sequences}, outputs, options);
  });
}

Status explain(const Context& context, const ConstTensor& q, const ConstTensor& k,
               const ConstTensor& v, const Outputs& outputs, const Options& options,
               Explanation& explanation) noexcept {
  return base::guarded([&] {
    return explain_call(context, {q, k, v, {}}, outputs, options, explanation);
  });
}

Status explain_varlen(const Context& context, const ConstTensor& q, const ConstTensor& k,
                      const ConstTensor& v, const Sequences& sequences, const Outputs& outputs,
                      const Options& options, Explanation& explanation) noexcept {
  return base::guarded([&]() -> Status {
    if (Status status = problem::require_sequences(sequences); !status.ok()) return status;
    return explain_call(context, {q, k, v, sequences}, outputs, options, explanation);
  });
}

}  // namespace regard

#include "regard/attention.h"

#include "base/guard.h"
#include "base/status_text.h"
#include "dispatch/dispatch.h"
#include "plan/plan.h"
#include "problem/problem.h"
#include "run/run.h"

namespace regard {
namespace {

/// What the kernels cannot do yet.
Status check_served(const problem::Problem& p) {
  const Outputs& o = p.outputs;
  const std::pair<const char*, bool> wanted[] = {
      {"q: a half type", p.dtype == DType::f16 || p.dtype == DType::bf16},
      {"out: a type other than q's", o.out.data && o.out.dtype != p.dtype},
      {"window", p.window.left != -1 || p.window.right != -1},
      {"softcap", p.softcap != 0},
      {"mask", p.mask.data != nullptr},
      {"bias", p.bias.data != nullptr},
      {"alibi_slopes", p.alibi_slopes.data != nullptr},
      {"sinks", p.sinks.data != nullptr},
      {"q_len", !p.q_len.empty()},
      {"kv_len", !p.kv_len.empty()},
      {"weights_stage", p.weights_stage != Stage::softmax},
      {"entropy", o.entropy.data != nullptr},
      {"top_weights", o.top_weights.data || o.top_keys.data},
      {"key_mass", o.key_mass.data != nullptr}};
  for (const auto& [name, given] : wanted) {
    if (given) return base::unsupported(std::string(name) + ": this version does not serve it yet");
  }
  return {};
}

/// A checked call with its plan.
struct Prepared {
  problem::Problem problem;
  plan::Plan plan;
};

Status prepare(const Context& context, const ConstTensor& q, const ConstTensor& k,
               const ConstTensor& v, const Outputs& outputs, const Options& options,
               Prepared& prepared) {
  if (!context.state()) return {StatusCode::out_of_memory, "context: it could not be made"};
  const dispatch::Choice& choice = dispatch::chosen();
  if (!choice.status.ok()) return choice.status;
  Status status = problem::make_problem(q, k, v, outputs, options, prepared.problem);
  if (status.ok()) status = check_served(prepared.problem);
  if (!status.ok()) return status;
  prepared.plan = plan::make_plan(prepared.problem, *choice.isa->table, context.threads());
  return {};
}

}  // namespace

Status forward(const Context& context, const ConstTensor& q, const ConstTensor& k,
               const ConstTensor& v, const Outputs& outputs, const Options& options) noexcept {
  return base::guarded([&]() -> Status {
    Prepared prepared;
    Status status = prepare(context, q, k, v, outputs, options, prepared);
    if (!status.ok()) return status;
    status = problem::check_memory(prepared.problem, prepared.plan.scratch_bytes);
    if (!status.ok()) return status;
    return run::run_plan(prepared.problem, prepared.plan, options.cancel, *context.state());
  });
}

Status explain(const Context& context, const ConstTensor& q, const ConstTensor& k,
               const ConstTensor& v, const Outputs& outputs, const Options& options,
               Explanation& explanation) noexcept {
  return base::guarded([&]() -> Status {
    Prepared prepared;
    Status status = prepare(context, q, k, v, outputs, options, prepared);
    if (!status.ok()) return status;
    const plan::Plan& plan = prepared.plan;
    const plan::TileCount tiles = plan::count_tiles(prepared.problem, plan);
    explanation = {
        .path = plan.path,
        .path_reason = plan.path_reason,
        .isa = dispatch::chosen().isa->name,
        .isa_reason = dispatch::chosen().reason,
        .threads = plan.workers,
        .rows_per_tile = plan.kernel->rows_per_group,
        .keys_per_tile = plan.kernel->keys_per_tile,
        .keys_per_block = plan.kernel->keys_per_block,
        .rows_per_item = plan.main.rows_per_item,
        .main_items = plan.main.items,
        .weights_items = plan.weights.items,
        .mass_items = 0,
        .tiles_visited = tiles.visited,
        .tiles_total = tiles.total,
        .scratch_bytes = plan.scratch_bytes,
        .looks = 1,
        .score_reason = "",
        .input_reason = "",
    };
    return {};
  });
}

}  // namespace regard

#include "regard/attention.h"

#include "base/guard.h"
#include "base/status_text.h"
#include "dispatch/dispatch.h"
#include "plan/plan.h"
#include "problem/problem.h"
#include "run/run.h"

namespace regard {
namespace {

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
    status = problem::check_memory(prepared.problem);
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
        .tiles_visited = tiles.visited,
        .tiles_total = tiles.total,
        .scratch_bytes = plan.scratch_bytes,
    };
    return {};
  });
}

}  // namespace regard

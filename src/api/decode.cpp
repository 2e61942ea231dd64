#include "regard/decode.h"

#include "api/explanation.h"
#include "base/guard.h"
#include "cache/view.h"
#include "dispatch/dispatch.h"
#include "plan/decode_plan.h"
#include "plan/plan.h"
#include "problem/decode_call.h"
#include "run/decode_run.h"

namespace regard {
namespace {

struct Inputs {
  const ConstTensor& q;
  const KvView& cache;
  const DecodeRows& rows;
};

/// A checked call with its plan.
struct Prepared {
  problem::DecodeCall call;
  plan::DecodePlan plan;

  plan::DecodeSource source() const { return {call.problem, &call.cache, call.rows.parents}; }
};

Status prepare(const Context& context, const Inputs& in, const Outputs& outputs,
               const Options& options, Prepared& prepared) {
  if (!context.state()) return {StatusCode::out_of_memory, "context: it could not be made"};
  const dispatch::Choice& choice = dispatch::chosen();
  if (!choice.status.ok()) return choice.status;
  Status status =
      problem::make_decode_call(in.q, in.cache, in.rows, outputs, options, prepared.call);
  if (!status.ok()) return status;
  prepared.plan = plan::make_decode_plan(prepared.source(), *choice.isa->table, context.threads());
  return {};
}

Status run_call(const Context& context, const Inputs& in, const Outputs& outputs,
                const Options& options) {
  Prepared prepared;
  Status status = prepare(context, in, outputs, options, prepared);
  if (status.ok()) {
    status = problem::check_decode_memory(prepared.call, prepared.plan.scratch_bytes);
  }
  if (!status.ok()) return status;
  return run::run_decode_plan(prepared.source(), prepared.plan, options.cancel, *context.state());
}

Status explain_call(const Context& context, const Inputs& in, const Outputs& outputs,
                    const Options& options, Explanation& explanation) {
  Prepared prepared;
  Status status = prepare(context, in, outputs, options, prepared);
  if (!status.ok()) return status;
  const plan::DecodePlan& plan = prepared.plan;
  const problem::Problem& p = prepared.call.problem;
  const plan::TileCount tiles = plan::count_tiles(prepared.source(), plan);
  explanation = {
      .path = Path::decode,
      .path_reason = "keys are in a cache",
      .unit = {},
      .isa = dispatch::chosen().isa->name,
      .isa_reason = dispatch::chosen().reason,
      .tiles_visited = tiles.visited,
      .tiles_total = tiles.total,
      .scratch_bytes = plan.scratch_bytes,
      .score_reason = plan::has_general_scores(p) ? "general: options on every pair"
                                                  : "plain: scale, causal, window, lengths, tree",
      .input_reason = plan.shared.items() > 0 ? "pages that sequences share are read once for all"
                                              : "each row once for all queries that share it",
  };
  add_decode(plan, explanation);
  return {};
}

}  // namespace

Status decode(const Context& context, const ConstTensor& q, const KvView& cache,
              const DecodeRows& rows, const Outputs& outputs, const Options& options) noexcept {
  return base::guarded([&] { return run_call(context, {q, cache, rows}, outputs, options); });
}

Status decode(const Context& context, const ConstTensor& q, const KvCache& cache,
              std::span<const std::int64_t> sequences, const DecodeRows& rows,
              const Outputs& outputs, const Options& options) noexcept {
  return base::guarded([&]() -> Status {
    cache::OwnedView owned;
    Status status = cache::view_of(cache, sequences, owned);
    if (!status.ok()) return status;
    return run_call(context, {q, owned.view, rows}, outputs, options);
  });
}

Status explain_decode(const Context& context, const ConstTensor& q, const KvView& cache,
                      const DecodeRows& rows, const Outputs& outputs, const Options& options,
                      Explanation& explanation) noexcept {
  return base::guarded([&] {
    return explain_call(context, {q, cache, rows}, outputs, options, explanation);
  });
}

Status explain_decode(const Context& context, const ConstTensor& q, const KvCache& cache,
                      std::span<const std::int64_t> sequences, const DecodeRows& rows,
                      const Outputs& outputs, const Options& options,
                      Explanation& explanation) noexcept {
  return base::guarded([&]() -> Status {
    cache::OwnedView owned;
    Status status = cache::view_of(cache, sequences, owned);
    if (!status.ok()) return status;
    return explain_call(context, {q, owned.view, rows}, outputs, options, explanation);
  });
}

}  // namespace regard

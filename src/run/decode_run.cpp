#include "run/decode_run.h"

#include "run/flight.h"

namespace regard::run {

Status run_decode_plan(const problem::DecodeCall& call, const plan::DecodePlan& plan,
                       const std::function<bool()>& cancel, ContextState& context) {
  const CallScratch scratch(context, call.problem.scratch, plan.scratch_bytes);
  if (!scratch.data()) return scratch.missing();
  plan::fill_decode(call, plan, scratch.data());
  for (const plan::DecodePhase* phase : {&plan.shared, &plan.own, &plan.finish}) {
    const auto work = [&](std::int64_t item, int worker) {
      plan::run_decode_item(call, plan, *phase, item, worker, scratch.data());
    };
    if (phase->items() == 0) continue;
    if (!fly(context, plan.workers, phase->items(), cancel, work)) return stopped();
  }
  return {};
}

}  // namespace regard::run

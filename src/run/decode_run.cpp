#include "run/decode_run.h"

#include "run/flight.h"

namespace regard::run {

bool fly_decode(const plan::DecodeSource& source, const plan::DecodePlan& plan,
                const std::function<bool()>& cancel, ContextState& context, std::byte* scratch) {
  plan::fill_decode(source, plan, scratch);
  for (const plan::DecodePhase* phase : {&plan.shared, &plan.own, &plan.finish}) {
    const auto work = [&](std::int64_t item, int worker) {
      plan::run_decode_item(source, plan, *phase, item, worker, scratch);
    };
    if (phase->items() == 0) continue;
    if (!fly(context, plan.workers, phase->items(), cancel, work)) return false;
  }
  return true;
}

Status run_decode_plan(const plan::DecodeSource& source, const plan::DecodePlan& plan,
                       const std::function<bool()>& cancel, ContextState& context) {
  const CallScratch scratch(context, source.problem.scratch, plan.scratch_bytes);
  if (!scratch.data()) return scratch.missing();
  return fly_decode(source, plan, cancel, context, scratch.data()) ? Status{} : stopped();
}

}  // namespace regard::run

#include "run/run.h"

#include "plan/task.h"
#include "run/decode_run.h"
#include "run/flight.h"

namespace regard::run {

Status run_plan(const problem::Problem& problem, const plan::Plan& plan,
                const std::function<bool()>& cancel, ContextState& context) {
  const CallScratch scratch(context, problem.scratch, plan.scratch_bytes);
  if (!scratch.data()) return scratch.missing();
  if (plan.decode && !fly_decode({.problem = problem, .most_rows = plan.decode_rows}, *plan.decode,
                                 cancel, context, scratch.data())) {
    return stopped();
  }
  plan::fill_ranges(problem, plan::range_arrays(problem, scratch.data()));
  for (const plan::Phase* phase : {&plan.main, &plan.weights, &plan.mass}) {
    const bool mass = phase->kind == plan::Phase::Kind::mass;
    const auto run = mass ? plan.kernel->run_mass : plan.kernel->run;
    const auto work = [&](std::int64_t item, int worker) {
      run(plan::make_task(problem, plan, *phase, item, worker, scratch.data()));
    };
    if (phase->items == 0) continue;
    if (!fly(context, plan.workers, phase->items, cancel, work)) return stopped();
  }
  return {};
}

}  // namespace regard::run

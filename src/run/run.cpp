#include "run/run.h"

#include <atomic>
#include <string>
#include <utility>

#include "plan/task.h"

namespace regard::run {
namespace {

/// One phase in flight: workers take the next item until none is left.
struct Flight {
  const problem::Problem& problem;
  const plan::Plan& plan;
  const plan::Phase& phase;
  const std::function<bool()>& cancel;
  std::byte* scratch;
  std::atomic<std::int64_t> next = 0;
  std::atomic<bool> cancelled = false;
};

bool wants_cancel(const std::function<bool()>& cancel) noexcept {
  try {
    return cancel && cancel();
  } catch (...) {
    return true;  // a hook that throws has nothing better to say
  }
}

void fly(void* state, int worker) {
  auto& flight = *static_cast<Flight*>(state);
  while (!flight.cancelled.load(std::memory_order_relaxed)) {
    const std::int64_t item = flight.next.fetch_add(1, std::memory_order_relaxed);
    if (item >= flight.phase.items) return;
    if (wants_cancel(flight.cancel)) {
      flight.cancelled = true;
      return;
    }
    const contract::DirectKernel& kernel = *flight.plan.kernel;
    const auto run = flight.phase.kind == plan::Phase::Kind::mass ? kernel.run_mass : kernel.run;
    run(plan::make_task(flight.problem, flight.plan, flight.phase, item, worker, flight.scratch));
  }
}

}  // namespace

Status run_plan(const problem::Problem& problem, const plan::Plan& plan,
                const std::function<bool()>& cancel, ContextState& context) {
  base::AlignedBuffer borrowed;
  // A span of no bytes may still have an address.
  std::byte* scratch = problem.scratch.empty() ? nullptr : problem.scratch.data();
  if (!scratch) {
    borrowed = context.borrow(plan.scratch_bytes);
    scratch = borrowed.data();
  }
  if (!scratch) {
    return {StatusCode::out_of_memory,
            "scratch: " + std::to_string(plan.scratch_bytes) + " bytes could not be had"};
  }
  plan::fill_ranges(problem, plan::range_arrays(problem, scratch));
  bool cancelled = false;
  for (const plan::Phase* phase : {&plan.main, &plan.weights, &plan.mass}) {
    if (phase->items == 0 || cancelled) continue;
    Flight flight{problem, plan, *phase, cancel, scratch};
    context.run(plan.workers, fly, &flight);
    cancelled = flight.cancelled;
  }
  if (borrowed.data()) context.give_back(std::move(borrowed));
  if (cancelled) return {StatusCode::cancelled, "cancel: the hook stopped the call"};
  return {};
}

}  // namespace regard::run

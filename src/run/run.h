// Carries out a plan: borrows the scratch, hands work items to the kernels, polls the cancel hook.
#pragma once

#include <functional>

#include "plan/plan.h"
#include "problem/problem.h"
#include "regard/status.h"
#include "run/context_state.h"

namespace regard::run {

Status run_plan(const problem::Problem& problem, const plan::Plan& plan,
                const std::function<bool()>& cancel, ContextState& context);

}  // namespace regard::run

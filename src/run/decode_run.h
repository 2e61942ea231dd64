// Carries out a decode plan.
#pragma once

#include <functional>

#include "plan/decode_plan.h"
#include "problem/decode_call.h"
#include "regard/status.h"
#include "run/context_state.h"

namespace regard::run {

Status run_decode_plan(const problem::DecodeCall& call, const plan::DecodePlan& plan,
                       const std::function<bool()>& cancel, ContextState& context);

}  // namespace regard::run

// Carries out a decode plan.
#pragma once

#include <cstddef>
#include <functional>

#include "plan/decode_plan.h"
#include "regard/status.h"
#include "run/context_state.h"

namespace regard::run {

Status run_decode_plan(const plan::DecodeSource& source, const plan::DecodePlan& plan,
                       const std::function<bool()>& cancel, ContextState& context);

/// The same in scratch that is there; false where the hook stopped it.
bool fly_decode(const plan::DecodeSource& source, const plan::DecodePlan& plan,
                const std::function<bool()>& cancel, ContextState& context, std::byte* scratch);

}  // namespace regard::run

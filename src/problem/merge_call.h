// Whether a call of `merge` makes sense: shapes, types, pointers, overlap.
#pragma once

#include <span>

#include "regard/merge.h"

namespace regard::problem {

/// Invalid_argument with a sentence where it does not. Touches no tensor memory.
Status check_merge(std::span<const Part> parts, const ConstTensor& sinks, const Tensor& out,
                   const Tensor& lse);

}  // namespace regard::problem

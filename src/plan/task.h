// The arguments of one work item.
#pragma once

#include <cstddef>
#include <cstdint>

#include "contract/direct.h"
#include "plan/plan.h"

namespace regard::plan {

/// The key ranges of all rows, as the kernels read them: `lo` and `hi` of every row of every
/// distinct batch entry.
struct RangeArrays {
  std::int32_t* lo = nullptr;
  std::int32_t* hi = nullptr;
};

/// Where the ranges live in the call's scratch.
RangeArrays range_arrays(const problem::Problem& problem, std::byte* scratch) noexcept;

/// Fills the ranges from problem::key_rule.
void fill_ranges(const problem::Problem& problem, const RangeArrays& ranges) noexcept;

/// Work item `item` of `phase` for `worker`. Within a head the last rows come first: under causal
/// alignment they see the most keys, and the longest items should start first.
contract::DirectTask make_task(const problem::Problem& problem, const Plan& plan,
                               const Phase& phase, std::int64_t item, int worker,
                               std::byte* scratch) noexcept;

}  // namespace regard::plan

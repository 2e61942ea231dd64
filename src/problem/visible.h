// Causal alignment, window and lengths as "row i sees keys [lo, hi)".
#pragma once

#include <algorithm>
#include <cstdint>

#include "problem/problem.h"

namespace regard::problem {

/// Empty when lo >= hi; hi is below 0 where the row itself does not exist.
struct KeyRange {
  std::int64_t lo = 0;
  std::int64_t hi = 0;
};

/// Query rows and keys of batch entry b that exist.
std::int64_t row_count(const Problem& problem, std::int64_t b) noexcept;
std::int64_t key_count(const Problem& problem, std::int64_t b) noexcept;

/// What is added to a row's number to give its position among the keys. Cut short of overflow, near
/// 2^63, where no distance from a key is told from the next.
std::int64_t position_offset(const Problem& problem, std::int64_t b) noexcept;

/// The rule of one batch entry: row i below `rows` sees keys [i + begin, i + end), cut to
/// [0, keys). Far begins and ends are cut short of overflow, where no row could tell.
struct KeyRule {
  std::int64_t rows = 0;
  std::int64_t keys = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;

  KeyRange row(std::int64_t i) const noexcept {
    if (i >= rows) return {0, -1};
    return {std::clamp<std::int64_t>(i + begin, 0, keys),
            std::clamp<std::int64_t>(i + end, 0, keys)};
  }
};
KeyRule key_rule(const Problem& problem, std::int64_t b) noexcept;

/// Keys that row i of batch entry b may see, within [0, key_count]; a mask or bias may hide more.
KeyRange visible_keys(const Problem& problem, std::int64_t b, std::int64_t i) noexcept;

/// Batch entries whose rows have different ranges: 1 when all entries share them.
std::int64_t distinct_ranges(const Problem& problem) noexcept;

/// Ranges stored one a row: how many in all, and where those of batch entry b start. Those of
/// packed sequences lie behind one another as their rows do, whatever the longest.
std::int64_t stored_ranges(const Problem& problem) noexcept;
std::int64_t first_range(const Problem& problem, std::int64_t b) noexcept;

/// Rows of the call before those of batch entry b, one a place whether they exist or not.
std::int64_t first_row(const Problem& problem, std::int64_t b) noexcept;

}  // namespace regard::problem

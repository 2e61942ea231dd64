#include "problem/visible.h"

#include <algorithm>
#include <cstdint>

namespace regard::problem {
namespace {

// Holds a row's number plus any offset and any side of a window.
__extension__ typedef __int128 Position;

// No row and no key has a number as large as 2^32: sums with offsets so far do not overflow.
constexpr std::int64_t kFarthest = INT64_MAX - (std::int64_t{1} << 32);

std::int64_t entry(std::span<const std::int64_t> values, std::int64_t b) {
  return values[values.size() == 1 ? 0 : std::size_t(b)];
}

std::int64_t length(std::span<const std::int64_t> starts, std::int64_t b) {
  return starts[std::size_t(b) + 1] - starts[std::size_t(b)];
}

std::int64_t given_offset(const Problem& p, std::int64_t b) {
  if (!p.q_offset.empty()) return entry(p.q_offset, b);
  return p.causal == Causal::bottom_right ? key_count(p, b) - row_count(p, b) : 0;
}

}  // namespace

std::int64_t row_count(const Problem& p, std::int64_t b) noexcept {
  if (p.packed()) return length(p.sequences.q, b);
  return p.q_len.empty() ? p.sq : p.q_len[std::size_t(b)];
}

std::int64_t key_count(const Problem& p, std::int64_t b) noexcept {
  if (p.packed()) return length(p.sequences.kv, b);
  return p.kv_len.empty() ? p.skv : p.kv_len[std::size_t(b)];
}

std::int64_t position_offset(const Problem& p, std::int64_t b) noexcept {
  return std::clamp(given_offset(p, b), -kFarthest, kFarthest);
}

KeyRule key_rule(const Problem& p, std::int64_t b) noexcept {
  constexpr Position far = Position{1} << 32;  // beyond every row and key, counted from any other
  const Position offset = given_offset(p, b);
  Position begin = -far;
  Position end = far;
  if (p.causal != Causal::none) end = offset + 1;
  if (p.window.left >= 0) begin = offset - p.window.left;
  if (p.window.right >= 0) end = std::min(end, offset + p.window.right + 1);
  return {row_count(p, b), key_count(p, b), std::int64_t(std::clamp(begin, -far, far)),
          std::int64_t(std::clamp(end, -far, far))};
}

KeyRange visible_keys(const Problem& p, std::int64_t b, std::int64_t i) noexcept {
  return key_rule(p, b).row(i);
}

std::int64_t distinct_ranges(const Problem& p) noexcept {
  const bool own = p.packed() || !p.q_len.empty() || !p.kv_len.empty();
  const bool moved = p.causal != Causal::none || p.window.left >= 0 || p.window.right >= 0;
  return own || (moved && p.q_offset.size() > 1) ? p.batch : 1;
}

std::int64_t stored_ranges(const Problem& p) noexcept {
  return p.packed() ? p.sequences.q.back() : distinct_ranges(p) * p.sq;
}

std::int64_t first_range(const Problem& p, std::int64_t b) noexcept {
  return distinct_ranges(p) > 1 ? first_row(p, b) : 0;
}

std::int64_t first_row(const Problem& p, std::int64_t b) noexcept {
  return p.packed() ? p.sequences.q[std::size_t(b)] : b * p.sq;
}

}  // namespace regard::problem

#include "problem/visible.h"

#include <algorithm>

namespace regard::problem {
namespace {

// No row and no key has a number as large: sums with it do not overflow.
constexpr std::int64_t kFar = std::int64_t{1} << 32;

std::int64_t entry(std::span<const std::int64_t> values, std::int64_t b) {
  return values[values.size() == 1 ? 0 : std::size_t(b)];
}

std::int64_t length(std::span<const std::int64_t> starts, std::int64_t b) {
  return starts[std::size_t(b) + 1] - starts[std::size_t(b)];
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
  if (!p.q_offset.empty()) return std::clamp(entry(p.q_offset, b), -kFar, kFar);
  return p.causal == Causal::bottom_right ? key_count(p, b) - row_count(p, b) : 0;
}

KeyRange visible_keys(const Problem& p, std::int64_t b, std::int64_t i) noexcept {
  if (i >= row_count(p, b)) return {0, -1};
  const std::int64_t keys = key_count(p, b);
  const std::int64_t position = i + position_offset(p, b);
  KeyRange range{0, keys};
  if (p.causal != Causal::none) range.hi = position + 1;
  if (p.window.left >= 0) range.lo = position - std::min(p.window.left, 2 * kFar);
  if (p.window.right >= 0) {
    range.hi = std::min(range.hi, position + std::min(p.window.right, 2 * kFar) + 1);
  }
  return {std::clamp<std::int64_t>(range.lo, 0, keys), std::clamp<std::int64_t>(range.hi, 0, keys)};
}

std::int64_t distinct_ranges(const Problem& p) noexcept {
  const bool own = p.packed() || !p.q_len.empty() || !p.kv_len.empty();
  const bool moved = p.causal != Causal::none || p.window.left >= 0 || p.window.right >= 0;
  return own || (moved && p.q_offset.size() > 1) ? p.batch : 1;
}

}  // namespace regard::problem

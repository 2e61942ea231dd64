// f32 on the way from f64 to fewer bits, so that the number is rounded once.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace regard::cache {

/// To f32 "to odd": a number between two of f32 becomes the one whose last bit is 1. Rounding that
/// to nearest at least two bits shorter gives what rounding x itself does (Boldo, Melquiond 2008).
/// What is finite stays finite.
inline float round_to_odd(double x) noexcept {
  const auto nearest = float(x);
  if (double(nearest) == x || std::isnan(x)) return nearest;
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::abs(double(nearest)) > std::abs(x)) --bits;  // towards zero
  return std::bit_cast<float>(bits | 1);
}

constexpr float round_to_odd(float x) noexcept {
  return x;
}

}  // namespace regard::cache

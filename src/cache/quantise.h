// Integers times a scale: the scale of some numbers, and the integer nearest to one of them.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "regard/half.h"

namespace regard::cache {

/// Scales as ascending codes from 0, of value 0, to kLargest.
struct F16Scale {
  using Code = std::uint16_t;
  static constexpr Code kLargest = 0x7bff;  // 65504
  static constexpr Code kNaN = 0x7e00;
  static double value(Code code) noexcept { return double(to_float(F16{code})); }
  static Code about(double x) noexcept { return to_f16(float(x)).bits; }
};

/// The upper 24 bits of an f32, so that 7 bits times the 16 of its significand are exact in f32; no
/// larger than what 127 of them leave finite.
struct F32Scale {
  using Code = std::uint32_t;
  static constexpr Code kLargest =
      std::bit_cast<std::uint32_t>(std::numeric_limits<float>::max() / 127) >> 8;
  static constexpr Code kNaN = 0x7fc000;
  static float number(Code code) noexcept { return std::bit_cast<float>(code << 8); }
  static double value(Code code) noexcept { return double(number(code)); }
  static Code about(double x) noexcept { return std::bit_cast<std::uint32_t>(float(x)) >> 8; }
};

struct IntegerRange {
  int lowest, highest;
};
inline constexpr IntegerRange kInt8{-127, 127}, kInt4{-8, 7};

/// The largest magnitude; NaN where one is NaN or infinite.
template <class T>
double largest_magnitude(const T* values, std::int64_t count) noexcept {
  T largest = 0;
  bool finite = true;
  for (std::int64_t n = 0; n < count; ++n) {
    const T magnitude = std::abs(values[n]);
    finite &= magnitude <= std::numeric_limits<T>::max();
    largest = magnitude > largest ? magnitude : largest;
  }
  return finite ? double(largest) : std::numeric_limits<double>::quiet_NaN();
}

/// The least scale that `levels` of reach `largest`, or the largest there is; NaN for NaN.
template <class Scale>
typename Scale::Code scale_code(double largest, int levels) noexcept {
  if (std::isnan(largest)) return Scale::kNaN;
  // The quotient is rounded, at most by one code; products of a level and a scale are exact.
  auto code = std::min(Scale::about(largest / levels), Scale::kLargest);
  while (code < Scale::kLargest && levels * Scale::value(code) < largest) ++code;
  while (code > 0 && levels * Scale::value(typename Scale::Code(code - 1)) >= largest) --code;
  return code;
}

/// Integers in [lowest, highest] nearest to numbers over their scale, ties to even; 0 where the
/// scale is 0 or NaN.
template <class T>
void quantise(const T* values, std::int64_t count, double scale, IntegerRange range,
              std::int8_t* to) noexcept {
  // Adding 1.5 2^52 rounds to an integer, ties to even. No quotient is rounded to a tie before: a
  // tie times the scale is an f64 (8 by 16 bits); other f64 differ from it by more than 2^-53 of
  // it, or below a power of two by as much; and a quotient comes to the tie from nearer only.
  constexpr double kInteger = 0x1.8p52;
  const double lowest = range.lowest, highest = range.highest;
  if (!(scale > 0)) {
    std::fill_n(to, count, std::int8_t{0});
    return;
  }
  for (std::int64_t n = 0; n < count; ++n) {
    const double quotient = std::min(std::max(double(values[n]) / scale, lowest), highest);
    to[n] = std::int8_t(int(quotient + kInteger - kInteger));
  }
}

}  // namespace regard::cache

// Elements of any float type read into, and written from, f32 and f64. Half types are right to the
// bit whatever the denormal mode: exact where they widen, to nearest (ties to even) where they
// narrow. Between f32 and f64 the mode may flush subnormals of f32.
#pragma once

#include <bit>
#include <cstdint>

#include "contract/element.h"

namespace regard::REGARD_ISA {

/// Exact.
[[gnu::always_inline]] inline float bf16_to_f32(std::uint16_t x) {
  return std::bit_cast<float>(std::uint32_t(x) << 16);
}

/// To nearest, ties to even; a NaN keeps its sign and the top of its payload, and becomes quiet.
[[gnu::always_inline]] inline std::uint16_t f32_to_bf16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  const bool is_nan = std::int32_t(bits & 0x7fffffff) > 0x7f800000;
  return std::uint16_t(is_nan ? bits >> 16 | 0x40 : rounded);
}

/// Exact: a subnormal is scaled here because as an f32 operand it could be flushed.
[[gnu::always_inline]] inline double bf16_to_f64(std::uint16_t x) {
  const std::int32_t magnitude = x & 0x7fff;
  const double subnormal = double(x & 0x8000 ? -magnitude : magnitude) * 0x1p-133;
  return 0 < magnitude && magnitude < 0x80 ? subnormal : double(bf16_to_f32(x));
}

/// x cut to f32, its last bit set where something was lost (the largest finite number stands for
/// all beyond it): rounding that to a half type gives what rounding x gives.
inline float f64_to_odd_f32(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const std::uint32_t sign = std::uint32_t(bits >> 32) & 0x80000000;
  const std::uint64_t magnitude = bits & 0x7fffffffffffffff;
  const int exponent = int(magnitude >> 52) - 896;  // as f32 counts it: 127 - 1023
  std::uint32_t value = 0;
  if (exponent >= 255) {
    const bool is_nan = magnitude > 0x7ff0000000000000;
    const bool is_infinite = magnitude == 0x7ff0000000000000;
    value = is_nan        ? 0x7fc00000 | (std::uint32_t(magnitude >> 29) & 0x7fffff)
            : is_infinite ? 0x7f800000
                          : 0x7f7fffff;
  } else if (exponent >= 1) {
    const bool inexact = (magnitude & 0x1fffffff) != 0;
    value = std::uint32_t((magnitude >> 29) - (std::uint64_t{896} << 23)) | std::uint32_t(inexact);
  } else {
    const std::uint64_t significand = (magnitude & 0xfffffffffffff) | 0x10000000000000;
    const int shift = 30 - exponent;
    const std::uint64_t kept = shift < 64 ? significand >> shift : 0;
    const bool inexact = shift >= 64 ? magnitude != 0 : kept << shift != significand;
    value = std::uint32_t(kept) | std::uint32_t(inexact);
  }
  return std::bit_cast<float>(sign | value);
}

[[gnu::always_inline]] inline float narrowed(float x) {
  return x;
}
[[gnu::always_inline]] inline float narrowed(double x) {
  return f64_to_odd_f32(x);
}

/// target[n target_step] = convert(source[n source_step]); the arrays do not overlap.
template <class S, class T, class F>
[[gnu::always_inline]] inline void convert_each(const S* __restrict source,
                                                std::int64_t source_step, std::int64_t count,
                                                T* __restrict target, std::int64_t target_step,
                                                const F& convert) {
  if (source_step == 1 && target_step == 1) {
    for (std::int64_t n = 0; n < count; ++n) target[n] = convert(source[n]);
    return;
  }
  for (std::int64_t n = 0; n < count; ++n) {
    target[n * target_step] = convert(source[n * source_step]);
  }
}

/// target[n] = element n of a source whose neighbours are `step` elements apart (also 0 or less);
/// `type` is a float type.
template <class T>
inline void read_elements(contract::Element type, const void* source, std::int64_t step,
                          std::int64_t count, T* target) {
  using contract::Element;
  const auto* halves = static_cast<const std::uint16_t*>(source);
  switch (type) {
    case Element::f64:
      return convert_each(static_cast<const double*>(source), step, count, target, 1,
                          [](double x) { return T(x); });
    case Element::f32:
      return convert_each(static_cast<const float*>(source), step, count, target, 1,
                          [](float x) { return T(x); });
    case Element::f16:
      if constexpr (sizeof(T) == 4) {
        if (step == 1) return f16_to_f32(halves, count, target);
      }
      return convert_each(halves, step, count, target, 1,
                          [](std::uint16_t x) { return T(f16_to_f32(x)); });
    case Element::bf16:
      return convert_each(halves, step, count, target, 1, [](std::uint16_t x) {
        if constexpr (sizeof(T) == 4) {
          return bf16_to_f32(x);
        } else {
          return bf16_to_f64(x);
        }
      });
    case Element::boolean:
    case Element::i64:
      return;
  }
}

/// The reverse: target element n, `step` elements apart, = source[n source_step].
template <class T>
inline void write_elements(contract::Element type, const T* source, std::int64_t source_step,
                           std::int64_t count, void* target, std::int64_t step) {
  using contract::Element;
  auto* halves = static_cast<std::uint16_t*>(target);
  switch (type) {
    case Element::f64:
      return convert_each(source, source_step, count, static_cast<double*>(target), step,
                          [](T x) { return double(x); });
    case Element::f32:
      return convert_each(source, source_step, count, static_cast<float*>(target), step,
                          [](T x) { return float(x); });
    case Element::f16:
      if constexpr (sizeof(T) == 4) {
        if (source_step == 1 && step == 1) return f32_to_f16(source, count, halves);
      }
      return convert_each(source, source_step, count, halves, step,
                          [](T x) { return f32_to_f16(narrowed(x)); });
    case Element::bf16:
      return convert_each(source, source_step, count, halves, step,
                          [](T x) { return f32_to_bf16(narrowed(x)); });
    case Element::boolean:
    case Element::i64:
      return;
  }
}

}  // namespace regard::REGARD_ISA

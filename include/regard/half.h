// Conversions of the 16-bit and 8-bit float types, bit by bit: exact where they widen, to nearest
// (ties to even) where they narrow. NaN stays NaN, its sign and upper payload kept; subnormals
// count, also where the caller flushes them.
#pragma once

#include <bit>
#include <cstdint>

#include "regard/tensor.h"

namespace regard {

constexpr float to_float(BF16 x) noexcept {
  return std::bit_cast<float>(std::uint32_t(x.bits) << 16);
}

constexpr float to_float(F16 x) noexcept {
  const std::uint32_t sign = std::uint32_t(x.bits & 0x8000) << 16;
  const std::uint32_t magnitude = x.bits & 0x7fff;
  if (magnitude >= 0x7c00) {  // infinity and NaN; a signalling NaN becomes quiet
    const std::uint32_t quiet = magnitude > 0x7c00 ? 0x400000 : 0;
    return std::bit_cast<float>(sign | 0x7f800000 | (magnitude & 0x3ff) << 13 | quiet);
  }
  if (magnitude < 0x400) {  // subnormal: a multiple of 2^-24
    const float value = float(magnitude) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
  }
  return std::bit_cast<float>(sign | ((magnitude << 13) + (112u << 23)));  // biases: 127 - 15
}

constexpr BF16 to_bf16(float x) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if ((bits & 0x7fffffff) > 0x7f800000) return {std::uint16_t(bits >> 16 | 0x40)};  // NaN
  return {std::uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}

constexpr F16 to_f16(float x) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = bits >> 16 & 0x8000;
  const std::uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return {std::uint16_t(sign | 0x7e00 | (magnitude >> 13 & 0x3ff))};
  if (magnitude >= 0x477ff000) return {std::uint16_t(sign | 0x7c00)};  // 65520 and above
  if (magnitude < 0x38800000) {
    // Below 2^-14 the last place is 2^-24: adding 1/2 (last place 2^-24) rounds there.
    const float sum = std::bit_cast<float>(magnitude) + 0.5f;
    return {std::uint16_t(sign | (std::bit_cast<std::uint32_t>(sum) - 0x3f000000))};
  }
  return {std::uint16_t(sign | (magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13)};
}

/// The 8-bit formats of the OCP: 1 + 4 + 3 bits of bias 7, without infinity, one NaN of each sign;
/// and the upper byte of an F16. Numbers beyond the largest, 448 and 57344, become that number.
struct F8E4M3 {
  std::uint8_t bits;
};
struct F8E5M2 {
  std::uint8_t bits;
};

constexpr float to_float(F8E5M2 x) noexcept {
  return to_float(F16{std::uint16_t(x.bits << 8)});
}

constexpr float to_float(F8E4M3 x) noexcept {
  const std::uint32_t sign = std::uint32_t(x.bits & 0x80) << 24;
  const std::uint32_t magnitude = x.bits & 0x7f;
  if (magnitude == 0x7f) return std::bit_cast<float>(sign | 0x7fc00000);
  if (magnitude < 8) {  // subnormal: a multiple of 2^-9
    const float value = float(magnitude) * 0x1p-9f;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
  }
  return std::bit_cast<float>(sign | ((magnitude << 20) + (120u << 23)));  // biases: 127 - 7
}

/// An infinity stays one.
constexpr F8E5M2 to_f8e5m2(float x) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = bits >> 24 & 0x80;
  const std::uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return {std::uint8_t(sign | 0x7e | (magnitude >> 21 & 3))};
  if (magnitude == 0x7f800000) return {std::uint8_t(sign | 0x7c)};
  if (magnitude >= 0x47600000) return {std::uint8_t(sign | 0x7b)};  // 57344 and above
  if (magnitude < 0x38800000) {
    // Below 2^-14 the last place is 2^-16: adding 128 (last place 2^-16) rounds there.
    const float sum = std::bit_cast<float>(magnitude) + 128.0f;
    return {std::uint8_t(sign | (std::bit_cast<std::uint32_t>(sum) - 0x43000000))};
  }
  return {std::uint8_t(sign | (magnitude - 0x38000000 + 0xfffff + (magnitude >> 21 & 1)) >> 21)};
}

/// An infinity becomes NaN.
constexpr F8E4M3 to_f8e4m3(float x) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = bits >> 24 & 0x80;
  const std::uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude >= 0x7f800000) return {std::uint8_t(sign | 0x7f)};
  if (magnitude >= 0x43e00000) return {std::uint8_t(sign | 0x7e)};  // 448 and above
  if (magnitude < 0x3c800000) {
    // Below 2^-6 the last place is 2^-9: adding 2^14 (last place 2^-9) rounds there.
    const float sum = std::bit_cast<float>(magnitude) + 0x1p14f;
    return {std::uint8_t(sign | (std::bit_cast<std::uint32_t>(sum) - 0x46800000))};
  }
  return {std::uint8_t(sign | (magnitude - 0x3c000000 + 0x7ffff + (magnitude >> 20 & 1)) >> 20)};
}

}  // namespace regard

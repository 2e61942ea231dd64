// Conversions of the 16-bit and 8-bit float types, bit by bit: exact where they widen, to nearest
// (ties to even) where they narrow. NaN stays NaN, its sign and upper payload kept; subnormals
// count, also where the caller flushes them.
#pragma once

#include <bit>
#include <cstdint>

#include "regard/tensor.h"

namespace regard {

/// The 8-bit formats of the OCP: 1 + 4 + 3 bits of bias 7, without infinity, one NaN of each sign;
/// and the upper byte of an F16. Numbers beyond the largest, 448 and 57344, become that number.
struct F8E4M3 {
  std::uint8_t bits;
};
struct F8E5M2 {
  std::uint8_t bits;
};

/// A sign, an exponent and a fraction in fewer bits than a float has, its exponent shorter too.
template <int kExponentBits, int kFractionBits>
struct NarrowFloat {
  static constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  static constexpr int kDropped = 23 - kFractionBits;
  static constexpr std::uint32_t kFraction = (1u << kFractionBits) - 1;
  static constexpr std::uint32_t kSign = 1u << (kExponentBits + kFractionBits);
  static constexpr std::uint32_t kRebias = std::uint32_t(127 - kBias) << 23;

  /// The bits of 2^n as a float.
  static constexpr std::uint32_t power(int n) noexcept { return std::uint32_t(127 + n) << 23; }

  /// Of bits that are neither infinity nor NaN.
  static constexpr float widened(std::uint32_t bits) noexcept {
    const std::uint32_t sign = bits & kSign ? 0x80000000 : 0;
    const std::uint32_t magnitude = bits & (kSign - 1);
    if (magnitude > kFraction) {
      return std::bit_cast<float>(sign | ((magnitude << kDropped) + kRebias));
    }
    // Subnormal: a multiple of the last place.
    constexpr float place = std::bit_cast<float>(power(1 - kBias - kFractionBits));
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(float(magnitude) * place));
  }

  /// What finite numbers beyond the last, infinity and NaN become.
  struct Ends {
    std::uint32_t beyond, infinity, nan;
  };

  static constexpr std::uint32_t rounded(float x, const Ends& ends) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t sign = bits >> 31 << (kExponentBits + kFractionBits);
    const std::uint32_t magnitude = bits & 0x7fffffff;
    if (magnitude >= 0x7f800000) [[unlikely]] {
      if (magnitude == 0x7f800000) return sign | ends.infinity;
      return sign | ends.nan | (magnitude >> kDropped & kFraction);
    }
    if (magnitude < power(1 - kBias)) [[unlikely]] {
      // Adding a number of the same last place as the subnormal ones rounds there.
      constexpr std::uint32_t same_place = power(1 - kBias - kFractionBits + 23);
      const float sum = std::bit_cast<float>(magnitude) + std::bit_cast<float>(same_place);
      return sign | (std::bit_cast<std::uint32_t>(sum) - same_place);
    }
    const std::uint32_t below_half = (1u << (kDropped - 1)) - 1;
    const std::uint32_t is_odd = magnitude >> kDropped & 1;
    const std::uint32_t nearest = (magnitude - kRebias + below_half + is_odd) >> kDropped;
    return sign | (nearest < ends.beyond ? nearest : ends.beyond);
  }
};

constexpr float to_float(BF16 x) noexcept {
  return std::bit_cast<float>(std::uint32_t(x.bits) << 16);
}

constexpr float to_float(F16 x) noexcept {
  const std::uint32_t magnitude = x.bits & 0x7fff;
  if (magnitude < 0x7c00) return NarrowFloat<5, 10>::widened(x.bits);
  // Infinity and NaN; a signalling NaN becomes quiet.
  const std::uint32_t sign = std::uint32_t(x.bits & 0x8000) << 16;
  const std::uint32_t quiet = magnitude > 0x7c00 ? 0x400000 : 0;
  return std::bit_cast<float>(sign | 0x7f800000 | (magnitude & 0x3ff) << 13 | quiet);
}

constexpr float to_float(F8E5M2 x) noexcept {
  return to_float(F16{std::uint16_t(x.bits << 8)});
}

constexpr float to_float(F8E4M3 x) noexcept {
  if ((x.bits & 0x7f) != 0x7f) return NarrowFloat<4, 3>::widened(x.bits);
  return std::bit_cast<float>(std::uint32_t(x.bits & 0x80) << 24 | 0x7fc00000);
}

/// A float cut short: its exponent needs no other bias.
constexpr BF16 to_bf16(float x) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if ((bits & 0x7fffffff) > 0x7f800000) return {std::uint16_t(bits >> 16 | 0x40)};  // NaN
  return {std::uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}

constexpr F16 to_f16(float x) noexcept {
  return {std::uint16_t(NarrowFloat<5, 10>::rounded(x, {0x7c00, 0x7c00, 0x7e00}))};
}

/// An infinity stays one.
constexpr F8E5M2 to_f8e5m2(float x) noexcept {
  return {std::uint8_t(NarrowFloat<5, 2>::rounded(x, {0x7b, 0x7c, 0x7e}))};
}

/// An infinity becomes NaN.
constexpr F8E4M3 to_f8e4m3(float x) noexcept {
  return {std::uint8_t(NarrowFloat<4, 3>::rounded(x, {0x7e, 0x7f, 0x7f}))};
}

}  // namespace regard

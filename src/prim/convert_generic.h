// f16 <-> f32 for any CPU: branch-free integer steps, which compilers turn into vectors. Flushing
// changes nothing: of the floating-point steps no result is subnormal, and the one operand that can
// be is far below what f16 holds.
#pragma once

#include <bit>
#include <cstdint>

namespace regard::REGARD_ISA {

/// Exact; a signalling NaN becomes quiet.
[[gnu::always_inline]] inline float f16_to_f32(std::uint16_t x) {
  const std::int32_t magnitude = x & 0x7fff;
  const std::int32_t rebias = 112 << 23;  // 127 - 15; twice for infinity and NaN
  const std::int32_t special = magnitude >= 0x7c00 ? rebias : 0;
  const std::int32_t quiet = magnitude > 0x7c00 ? 0x400000 : 0;
  const std::int32_t normal = ((magnitude << 13) + rebias + special) | quiet;
  const auto subnormal = std::bit_cast<std::int32_t>(float(magnitude) * 0x1p-24f);
  const std::int32_t value = magnitude < 0x400 ? subnormal : normal;
  return std::bit_cast<float>(std::uint32_t(x & 0x8000) << 16 | std::uint32_t(value));
}

/// To nearest, ties to even; a NaN keeps its sign and the top of its payload, and becomes quiet.
[[gnu::always_inline]] inline std::uint16_t f32_to_f16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const auto magnitude = std::int32_t(bits & 0x7fffffff);
  const std::int32_t normal = (magnitude - (112 << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13;
  // Below 2^-14 the last place of f16 is 2^-24, which is also that of an f32 in [1/2, 1).
  const float sum = std::bit_cast<float>(magnitude) + 0.5f;
  const std::int32_t subnormal = std::bit_cast<std::int32_t>(sum) - 0x3f000000;
  const std::int32_t finite = magnitude < 0x38800000 ? subnormal : normal;
  const std::int32_t bounded = magnitude < 0x477ff000 ? finite : 0x7c00;  // 65520 rounds up
  const std::int32_t nan = 0x7e00 | (magnitude >> 13 & 0x3ff);
  const std::int32_t value = magnitude > 0x7f800000 ? nan : bounded;
  return std::uint16_t((bits >> 16 & 0x8000) | std::uint32_t(value));
}

inline void f16_to_f32(const std::uint16_t* __restrict source, std::int64_t count,
                       float* __restrict target) {
  for (std::int64_t n = 0; n < count; ++n) target[n] = f16_to_f32(source[n]);
}
inline void f32_to_f16(const float* __restrict source, std::int64_t count,
                       std::uint16_t* __restrict target) {
  for (std::int64_t n = 0; n < count; ++n) target[n] = f32_to_f16(source[n]);
}

}  // namespace regard::REGARD_ISA

// f16 <-> f32 by FCVT. Neither FZ nor FZ16 of FPCR flushes subnormals of f16 in these conversions;
// subnormals of f32, which FZ flushes, are far below what f16 holds. The rounding and the IEEE
// format are those of the mode that FlushDenormals sets.
#pragma once

#include <arm_neon.h>

#include <bit>
#include <cstdint>

namespace regard::REGARD_ISA {

/// Exact; a signalling NaN becomes quiet.
[[gnu::always_inline]] inline float f16_to_f32(std::uint16_t x) {
  return float(std::bit_cast<float16_t>(x));
}

/// To nearest, ties to even; a NaN keeps its sign and the top of its payload, and becomes quiet.
[[gnu::always_inline]] inline std::uint16_t f32_to_f16(float x) {
  return std::bit_cast<std::uint16_t>(float16_t(x));
}

inline void f16_to_f32(const std::uint16_t* source, std::int64_t count, float* target) {
  std::int64_t n = 0;
  for (; n + 4 <= count; n += 4) {
    vst1q_f32(target + n, vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(source + n))));
  }
  for (; n < count; ++n) target[n] = f16_to_f32(source[n]);
}
inline void f32_to_f16(const float* source, std::int64_t count, std::uint16_t* target) {
  std::int64_t n = 0;
  for (; n + 4 <= count; n += 4) {
    vst1_u16(target + n, vreinterpret_u16_f16(vcvt_f16_f32(vld1q_f32(source + n))));
  }
  for (; n < count; ++n) target[n] = f32_to_f16(source[n]);
}

}  // namespace regard::REGARD_ISA

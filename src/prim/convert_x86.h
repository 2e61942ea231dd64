// f16 <-> f32 by the F16C instructions, which take the rounding from their operand and do not flush
// subnormals of f16, whatever the mode.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace regard::REGARD_ISA {

/// Exact; a signalling NaN becomes quiet.
[[gnu::always_inline]] inline float f16_to_f32(std::uint16_t x) {
  return _cvtsh_ss(x);
}

/// To nearest, ties to even; a NaN keeps its sign and the top of its payload, and becomes quiet.
[[gnu::always_inline]] inline std::uint16_t f32_to_f16(float x) {
  return _cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT);
}

inline void f16_to_f32(const std::uint16_t* source, std::int64_t count, float* target) {
  std::int64_t n = 0;
  for (; n + 8 <= count; n += 8) {
    const auto* halves = static_cast<const __m128i*>(static_cast<const void*>(source + n));
    _mm256_storeu_ps(target + n, _mm256_cvtph_ps(_mm_loadu_si128(halves)));
  }
  for (; n < count; ++n) target[n] = f16_to_f32(source[n]);
}
inline void f32_to_f16(const float* source, std::int64_t count, std::uint16_t* target) {
  std::int64_t n = 0;
  for (; n + 8 <= count; n += 8) {
    auto* halves = static_cast<__m128i*>(static_cast<void*>(target + n));
    _mm_storeu_si128(halves,
                     _mm256_cvtps_ph(_mm256_loadu_ps(source + n), _MM_FROUND_TO_NEAREST_INT));
  }
  for (; n < count; ++n) target[n] = f32_to_f16(source[n]);
}

}  // namespace regard::REGARD_ISA

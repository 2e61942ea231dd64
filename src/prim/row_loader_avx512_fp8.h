// fp8 as AVX-512 loads it: by way of f16, of which e5m2 is the upper byte and e4m3 the fields with
// another bias. The instruction that widens f16 takes no longer for subnormals.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "prim/row_loader.h"

namespace regard::REGARD_ISA {

/// Two vectors from 32 bytes: the even columns, then the odd ones.
struct Fp8Rows : EvenOddRows<16> {
  /// 16 words whose upper and whose lower bytes are the elements.
  [[gnu::always_inline]] static __m256i words(RowAt row, std::int64_t v) {
    return _mm256_loadu_si256(
        static_cast<const __m256i*>(static_cast<const void*>(row.data + 16 * v)));
  }
};

template <>
struct RowLoader<contract::RowFormat::fp8_e5m2> : Fp8Rows {
  template <int N>
  [[gnu::always_inline]] static void load(RowAt row, std::int64_t v, __m512 (&x)[N]) {
    const __m256i upper = _mm256_set1_epi16(short(0xff00));
#pragma GCC unroll 8
    for (int n = 0; n < N; n += 2) {
      const __m256i pairs = words(row, v + n);
      x[n] = _mm512_cvtph_ps(_mm256_slli_epi16(pairs, 8));
      x[n + 1] = _mm512_cvtph_ps(_mm256_and_si256(pairs, upper));
    }
  }
};

template <>
struct RowLoader<contract::RowFormat::fp8_e4m3> : Fp8Rows {
  /// 2^-8 times the upper bytes. Moved right by one with its sign doubled, the byte is an f16 but
  /// for the second bit, which has to be clear, or set for a NaN. A NaN is all ones below the sign,
  /// so that adding one changes that bit for it alone: the exclusive or of both words is the bit.
  /// In the seven bits at the bottom it is 0, and they are cleared by the same instruction.
  [[gnu::always_inline]] static __m512 widen(__m256i words) {
    const __m256i moved = _mm256_srai_epi16(words, 1);
    const __m256i carried = _mm256_add_epi16(moved, _mm256_set1_epi16(0x80));
    constexpr int toggle = 0x78;  // moved ^ (carried & bits)
    return _mm512_cvtph_ps(
        _mm256_ternarylogic_epi32(moved, carried, _mm256_set1_epi16(0x407f), toggle));
  }

  template <int N>
  [[gnu::always_inline]] static void load(RowAt row, std::int64_t v, __m512 (&x)[N]) {
    const __m512 factor = _mm512_set1_ps(0x1p8f);
#pragma GCC unroll 8
    for (int n = 0; n < N; n += 2) {
      const __m256i pairs = words(row, v + n);
      x[n] = widen(_mm256_slli_epi16(pairs, 8)) * factor;
      x[n + 1] = widen(pairs) * factor;
    }
  }
};

}  // namespace regard::REGARD_ISA

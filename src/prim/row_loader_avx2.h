// The float formats that AVX2 with F16C turns into vectors of f32 as it loads them. Integers:
// row_loader_avx2_integers.h.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "prim/row_loader.h"

namespace regard::REGARD_ISA {

[[gnu::always_inline]] inline __m128i load_16_bytes(const std::byte* from) {
  return _mm_loadu_si128(static_cast<const __m128i*>(static_cast<const void*>(from)));
}

template <>
struct RowLoader<contract::RowFormat::f16> : LoadedRows<1, 1, 8> {
  template <int N>
  [[gnu::always_inline]] static void load(RowAt row, std::int64_t v, __m256 (&x)[N]) {
#pragma GCC unroll 16
    for (int n = 0; n < N; ++n) x[n] = _mm256_cvtph_ps(load_16_bytes(row.data + 16 * (v + n)));
  }
};

template <>
struct RowLoader<contract::RowFormat::bf16> : EvenOddRows<8> {
  template <int N>
  [[gnu::always_inline]] static void load(RowAt row, std::int64_t v, __m256 (&x)[N]) {
    const __m256i odd = _mm256_set1_epi32(int(0xffff0000));
#pragma GCC unroll 8
    for (int n = 0; n < N; n += 2) {
      const __m256i pairs = _mm256_loadu_si256(
          static_cast<const __m256i*>(static_cast<const void*>(row.data + 16 * (v + n))));
      x[n] = _mm256_castsi256_ps(_mm256_slli_epi32(pairs, 16));
      x[n + 1] = _mm256_castsi256_ps(_mm256_and_si256(pairs, odd));
    }
  }
};

template <>
struct RowLoader<contract::RowFormat::fp8_e5m2> : EvenOddRows<8> {
  template <int N>
  [[gnu::always_inline]] static void load(RowAt row, std::int64_t v, __m256 (&x)[N]) {
    const __m128i upper = _mm_set1_epi16(short(0xff00));
#pragma GCC unroll 8
    for (int n = 0; n < N; n += 2) {
      const __m128i pairs = load_16_bytes(row.data + 8 * (v + n));
      x[n] = _mm256_cvtph_ps(_mm_slli_epi16(pairs, 8));
      x[n + 1] = _mm256_cvtph_ps(_mm_and_si128(pairs, upper));
    }
  }
};

template <>
struct RowLoader<contract::RowFormat::fp8_e4m3> : EvenOddRows<8> {
  /// 2^-8 times the upper bytes of words. Moved right by one with its sign doubled, the byte is an
  /// f16 but for the second bit, which has to be clear, or set for a NaN. A NaN is all ones below
  /// the sign, so that adding one changes that bit for it alone: the exclusive or of both words is
  /// the bit. In the seven bits at the bottom it is 0.
  [[gnu::always_inline]] static __m256 widen(__m128i words) {
    const __m128i moved = _mm_srai_epi16(words, 1);
    const __m128i carried = _mm_add_epi16(moved, _mm_set1_epi16(0x80));
    const __m128i wrong = _mm_and_si128(carried, _mm_set1_epi16(0x407f));
    return _mm256_cvtph_ps(_mm_xor_si128(moved, wrong));
  }

  template <int N>
  [[gnu::always_inline]] static void load(RowAt row, std::int64_t v, __m256 (&x)[N]) {
    const __m256 factor = _mm256_set1_ps(0x1p8f);
#pragma GCC unroll 8
    for (int n = 0; n < N; n += 2) {
      const __m128i pairs = load_16_bytes(row.data + 8 * (v + n));
      x[n] = widen(_mm_slli_epi16(pairs, 8)) * factor;
      x[n + 1] = widen(pairs) * factor;
    }
  }
};

}  // namespace regard::REGARD_ISA

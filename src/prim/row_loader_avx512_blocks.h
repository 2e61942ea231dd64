// ggml's blocks of 32 as AVX-512 loads them: the scale stands in front of the elements.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "prim/row_loader.h"
#include "prim/row_loader_avx512.h"

namespace regard::REGARD_ISA {

/// Two vectors from a block.
struct BlockRows : LoadedRows<2, 2, 32> {
  [[gnu::always_inline]] static __m512 scale(const std::byte* block) {
    short bits = 0;
    __builtin_memcpy(&bits, block, sizeof bits);
    return _mm512_cvtph_ps(_mm256_set1_epi16(bits));
  }
};

template <>
struct RowLoader<contract::RowFormat::q8_0> : BlockRows {
  template <int N>
  [[gnu::always_inline]] static void load(RowAt row, std::int64_t v, __m512 (&x)[N]) {
#pragma GCC unroll 8
    for (int n = 0; n < N; n += 2) {
      const std::byte* block = row.data + (v + n) / 2 * 34;
      const __m512 factor = scale(block);
      x[n] = load_integers(block + 2) * factor;
      x[n + 1] = load_integers(block + 18) * factor;
    }
  }
};

/// The values of the 16 nibbles are products by the scale already.
template <>
struct RowLoader<contract::RowFormat::q4_0> : BlockRows {
  template <int N>
  [[gnu::always_inline]] static void load(RowAt row, std::int64_t v, __m512 (&x)[N]) {
    const __m512 integers = _mm512_setr_ps(-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7);
#pragma GCC unroll 8
    for (int n = 0; n < N; n += 2) {
      const std::byte* block = row.data + (v + n) / 2 * 18;
      const __m512 values = integers * scale(block);
      const __m512i bytes = _mm512_cvtepu8_epi32(
          _mm_loadu_si128(static_cast<const __m128i*>(static_cast<const void*>(block + 2))));
      x[n] = _mm512_permutexvar_ps(bytes, values);
      x[n + 1] = _mm512_permutexvar_ps(_mm512_srli_epi32(bytes, 4), values);
    }
  }
};

}  // namespace regard::REGARD_ISA

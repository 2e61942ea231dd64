// The formats that AVX-512 turns into vectors of f32 as it loads them. A column's order within a
// row is the loader's own: queries and outputs follow it.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "prim/row_loader.h"

namespace regard::REGARD_ISA {

template <>
struct RowLoader<contract::RowFormat::f16> : LoadedRows<1, 1, 16> {
  template <int N>
  [[gnu::always_inline]] static void load(RowAt row, std::int64_t v, __m512 (&x)[N]) {
#pragma GCC unroll 16
    for (int n = 0; n < N; ++n) {
      x[n] = _mm512_cvtph_ps(_mm256_loadu_si256(
          static_cast<const __m256i*>(static_cast<const void*>(row.data + 32 * (v + n)))));
    }
  }
};

/// Two vectors from 64 bytes: the even columns, then the odd ones.
template <>
struct RowLoader<contract::RowFormat::bf16> : EvenOddRows<16> {
  template <int N>
  [[gnu::always_inline]] static void load(RowAt row, std::int64_t v, __m512 (&x)[N]) {
    const __m512i odd = _mm512_set1_epi32(int(0xffff0000));
#pragma GCC unroll 8
    for (int n = 0; n < N; n += 2) {
      const __m512i pairs = _mm512_loadu_si512(row.data + 32 * (v + n));
      x[n] = _mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16));
      x[n + 1] = _mm512_castsi512_ps(_mm512_and_si512(pairs, odd));
    }
  }
};

[[gnu::always_inline]] inline __m512 load_integers(const std::byte* from) {
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(
      _mm_loadu_si128(static_cast<const __m128i*>(static_cast<const void*>(from)))));
}

template <>
struct RowLoader<contract::RowFormat::int8> : LoadedRows<1, 1, 16> {
  static float scale(RowAt row) { return scale_f32(row.scales); }

  template <int N>
  [[gnu::always_inline]] static void load(RowAt row, std::int64_t v, __m512 (&x)[N]) {
#pragma GCC unroll 16
    for (int n = 0; n < N; ++n) x[n] = load_integers(row.data + 16 * (v + n));
  }
};

template <>
struct RowLoader<contract::RowFormat::int8_32> : LoadedRows<2, 2, 32> {
  template <int N>
  [[gnu::always_inline]] static void load(RowAt row, std::int64_t v, __m512 (&x)[N]) {
#pragma GCC unroll 8
    for (int n = 0; n < N; n += 2) {
      const __m512 factor = _mm512_set1_ps(scale_f16(row.scales + v + n));
      x[n] = load_integers(row.data + 16 * (v + n)) * factor;
      x[n + 1] = load_integers(row.data + 16 * (v + n) + 16) * factor;
    }
  }
};

/// Four vectors from 64 bytes: vector n has byte n of every 32-bit word, moved to the top.
template <>
struct WideLoader<contract::RowFormat::int8_32> : LoadedRows<4, 4, 64> {
  static constexpr float kOne = 0x1p24F;
  static std::int64_t column(std::int64_t position) {
    return position / 64 * 64 + position % 16 * 4 + position / 16 % 4;
  }

  [[gnu::always_inline]] static __m512 scale(RowAt row, std::int64_t v) {
    const __m512i blocks = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
    int pair = 0;
    __builtin_memcpy(&pair, row.scales + v, sizeof pair);
    return _mm512_permutexvar_ps(blocks,
                                 _mm512_castps128_ps512(_mm_cvtph_ps(_mm_cvtsi32_si128(pair))));
  }

  template <int N>
  [[gnu::always_inline]] static void load(RowAt row, std::int64_t v, __m512 (&x)[N]) {
    // Bytes of 0 but for byte 0 of the word, which goes to the top.
    const __m512i to_top = _mm512_set4_epi32(0x0c808080, 0x08808080, 0x04808080, 0x00808080);
#pragma GCC unroll 16
    for (int n = 0; n < N; ++n) {
      const __m512i bytes = _mm512_loadu_si512(row.data + 16 * (v + n / 4 * 4));
      const __m512i byte_n = _mm512_add_epi32(to_top, _mm512_set1_epi32(n % 4 << 24));
      x[n] = _mm512_cvtepi32_ps(_mm512_shuffle_epi8(bytes, byte_n));
    }
  }
};

/// Eight vectors from 64 bytes: vector n has nibble n of every 32-bit word.
template <>
struct WideLoader<contract::RowFormat::int4_32> : LoadedRows<8, 4, 128> {
  static constexpr float kOne = 1;
  static std::int64_t column(std::int64_t position) {
    return position / 128 * 128 + position % 16 * 8 + position / 16 % 8;
  }

  [[gnu::always_inline]] static __m512 scale(RowAt row, std::int64_t v) {
    const __m512i blocks = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    const __m128i four = _mm_loadl_epi64(
        static_cast<const __m128i*>(static_cast<const void*>(row.scales + v / 8 * 8)));
    return _mm512_permutexvar_ps(blocks, _mm512_castps128_ps512(_mm_cvtph_ps(four)));
  }

  template <int N>
  [[gnu::always_inline]] static void load(RowAt row, std::int64_t v, __m512 (&x)[N]) {
    constexpr int most = N % 8 == 0 ? 8 : 4;
    const __m512 values = _mm512_setr_ps(-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7);
#pragma GCC unroll 8
    for (int c = 0; c < N; c += most) {
      __m512i words = _mm512_loadu_si512(row.data + (v + c) / 8 * 64);
      if (most < 8) words = _mm512_srl_epi32(words, _mm_cvtsi64_si128((v + c) % 8 * 4));
#pragma GCC unroll 8
      for (int n = 0; n < most; ++n) {
        const __m512i nibbles = n == 0 ? words : _mm512_srli_epi32(words, unsigned(4 * n));
        x[c + n] = _mm512_permutexvar_ps(nibbles, values);
      }
    }
  }
};

/// Four vectors from 32 bytes. Lane j of vector n is nibble n of 32-bit word j for j < 8, nibble
/// n + 4 of word j - 8 beyond. Its scale is that of the block of its word.
template <>
struct RowLoader<contract::RowFormat::int4_32> : LoadedRows<4, 2, 64> {
  static std::int64_t column(std::int64_t position) {
    const std::int64_t lane = position % 16;
    return position / 64 * 64 + lane % 8 * 8 + position / 16 % 4 + lane / 8 * 4;
  }

  template <int N>
  [[gnu::always_inline]] static void load(RowAt row, std::int64_t v, __m512 (&x)[N]) {
    constexpr int most = N % 4 == 0 ? 4 : 2;
    const __m512i halves =
        _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 16, 16, 16, 16, 16, 16, 16, 16);
    const __m512 values = _mm512_setr_ps(-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7);
    const __m512i blocks = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1);
#pragma GCC unroll 2
    for (int c = 0; c < N; c += most) {
      const std::int64_t chunk = (v + c) / 4;
      const std::int64_t first = most == 4 ? 0 : (v + c) % 4;
      __m512i words = _mm512_broadcast_i64x4(_mm256_loadu_si256(
          static_cast<const __m256i*>(static_cast<const void*>(row.data + 32 * chunk))));
      words = _mm512_srlv_epi32(words, _mm512_add_epi32(halves, _mm512_set1_epi32(int(4 * first))));
      int pair = 0;
      __builtin_memcpy(&pair, row.scales + 4 * chunk, sizeof pair);
      const __m512 scale = _mm512_permutexvar_ps(
          blocks, _mm512_castps128_ps512(_mm_cvtph_ps(_mm_cvtsi32_si128(pair))));
#pragma GCC unroll 4
      for (int n = 0; n < most; ++n) {
        const __m512i nibbles = n == 0 ? words : _mm512_srli_epi32(words, unsigned(4 * n));
        x[c + n] = _mm512_permutexvar_ps(nibbles, values) * scale;
      }
    }
  }
};

}  // namespace regard::REGARD_ISA

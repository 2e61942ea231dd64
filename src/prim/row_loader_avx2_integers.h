// The integer formats that AVX2 turns into vectors of f32 as it loads them.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "prim/row_loader.h"
#include "prim/row_loader_avx2.h"

namespace regard::REGARD_ISA {

[[gnu::always_inline]] inline __m256 load_integers(const std::byte* from) {
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(
      _mm_loadl_epi64(static_cast<const __m128i*>(static_cast<const void*>(from)))));
}

[[gnu::always_inline]] inline __m256 broadcast_f16(const std::byte* from) {
  short bits = 0;
  __builtin_memcpy(&bits, from, sizeof bits);
  return _mm256_cvtph_ps(_mm_set1_epi16(bits));
}

template <>
struct RowLoader<contract::RowFormat::int8> : LoadedRows<1, 1, 8> {
  static float scale(RowAt row) { return scale_f32(row.scales); }

  template <int N>
  [[gnu::always_inline]] static void load(RowAt row, std::int64_t v, __m256 (&x)[N]) {
#pragma GCC unroll 16
    for (int n = 0; n < N; ++n) x[n] = load_integers(row.data + 8 * (v + n));
  }
};

/// Blocks of 32, four vectors each.
using BlockRows = LoadedRows<4, 1, 32>;

/// Where a block lies.
struct BlockAt {
  const std::byte* elements = nullptr;
  const std::byte* scale = nullptr;
};

/// Loads vectors of one block from `first` on.
template <int N>
[[gnu::always_inline]] inline void load_bytes(BlockAt block, std::int64_t first, __m256* x) {
  const __m256 factor = broadcast_f16(block.scale);
#pragma GCC unroll 4
  for (int n = 0; n < N; ++n) x[n] = load_integers(block.elements + 8 * (first + n)) * factor;
}

/// Lane j of vector n is nibble n of 32-bit word j for j < 4, nibble n + 4 of word j - 4 beyond:
/// as the top of a signed word, whose sign is right once the nibble's own top bit is turned.
template <int N>
[[gnu::always_inline]] inline void load_nibbles(BlockAt block, std::int64_t first, __m256* x) {
  const __m256i left = _mm256_add_epi32(_mm256_setr_epi32(16, 16, 16, 16, 0, 0, 0, 0),
                                        _mm256_set1_epi32(int(4 * (4 - N - first))));
  const __m256i bytes = _mm256_broadcastsi128_si256(load_16_bytes(block.elements));
  const __m256i words =
      _mm256_sllv_epi32(_mm256_xor_si256(bytes, _mm256_set1_epi32(int(0x88888888))), left);
  const __m256 factor = broadcast_f16(block.scale);
#pragma GCC unroll 4
  for (int n = 0; n < N; ++n) {
    const __m256i top = _mm256_slli_epi32(words, 4 * (N - 1 - n));
    x[n] = _mm256_cvtepi32_ps(_mm256_srai_epi32(top, 28)) * factor;
  }
}

/// The byte of a block's 16 that holds the element at `position` of the vectors, and its nibble.
struct NibbleAt {
  std::int64_t byte, half;
};
inline NibbleAt nibble_at(std::int64_t position) {
  const std::int64_t nibble = position / 8 % 4 + position % 8 / 4 * 4;
  return {position % 4 * 4 + nibble / 2, nibble % 2};
}

/// Vectors v to v + N, block by block: take.operator()<count>(block, first, x).
template <int N, class F>
[[gnu::always_inline]] inline void load_blocks(std::int64_t v, __m256 (&x)[N], const F& take) {
  if constexpr (N < 4) {
    take.template operator()<N>(v / 4, v % 4, x);
  } else {
#pragma GCC unroll 4
    for (int n = 0; n < N; n += 4) take.template operator()<4>((v + n) / 4, 0, x + n);
  }
}

template <>
struct RowLoader<contract::RowFormat::int8_32> : BlockRows {
  template <int N>
  [[gnu::always_inline]] static void load(RowAt row, std::int64_t v, __m256 (&x)[N]) {
    load_blocks(v, x, [&]<int kCount>(std::int64_t block, std::int64_t first, __m256* to) {
      load_bytes<kCount>({row.data + 32 * block, row.scales + 2 * block}, first, to);
    });
  }
};

template <>
struct RowLoader<contract::RowFormat::q8_0> : BlockRows {
  template <int N>
  [[gnu::always_inline]] static void load(RowAt row, std::int64_t v, __m256 (&x)[N]) {
    load_blocks(v, x, [&]<int kCount>(std::int64_t block, std::int64_t first, __m256* to) {
      const std::byte* at = row.data + 34 * block;
      load_bytes<kCount>({at + 2, at}, first, to);
    });
  }
};

template <>
struct RowLoader<contract::RowFormat::int4_32> : BlockRows {
  static std::int64_t column(std::int64_t position) {
    const auto [byte, half] = nibble_at(position);
    return position / 32 * 32 + 2 * byte + half;
  }

  template <int N>
  [[gnu::always_inline]] static void load(RowAt row, std::int64_t v, __m256 (&x)[N]) {
    load_blocks(v, x, [&]<int kCount>(std::int64_t block, std::int64_t first, __m256* to) {
      load_nibbles<kCount>({row.data + 16 * block, row.scales + 2 * block}, first, to);
    });
  }
};

template <>
struct RowLoader<contract::RowFormat::q4_0> : BlockRows {
  static std::int64_t column(std::int64_t position) {
    const auto [byte, half] = nibble_at(position);
    return position / 32 * 32 + 16 * half + byte;
  }

  template <int N>
  [[gnu::always_inline]] static void load(RowAt row, std::int64_t v, __m256 (&x)[N]) {
    load_blocks(v, x, [&]<int kCount>(std::int64_t block, std::int64_t first, __m256* to) {
      const std::byte* at = row.data + 18 * block;
      load_nibbles<kCount>({at + 2, at}, first, to);
    });
  }
};

}  // namespace regard::REGARD_ISA

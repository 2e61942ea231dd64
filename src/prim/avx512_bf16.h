// The operations of AVX-512, and what takes bf16 two by two.
#pragma once

#include "prim/avx512.h"
#include "prim/rough_exp2.h"
#include "prim/row_loader.h"

namespace regard::REGARD_ISA {

/// A word of two neighbours in every lane.
[[gnu::always_inline]] inline __m512 broadcast_pair(const std::uint16_t* p) {
  std::int32_t word;
  __builtin_memcpy(&word, p, sizeof(word));
  return _mm512_castsi512_ps(_mm512_set1_epi32(word));
}

/// c + a b of both halves, each product added with a rounding of its own; subnormal numbers in a,
/// b, c and results count as 0. On Zen 4 and on Emerald Rapids the high half comes first, and both
/// are fused multiply-adds to nearest: no bit differs in 6 and in 100 million; the bounds hold for
/// any order.
[[gnu::always_inline]] inline __m512 dot(__m512 a, __m512 b, __m512 c) {
  return _mm512_dpbf16_ps(c, __m512bh(a), __m512bh(b));
}

/// Both to bf16, to nearest, ties to even, `low` in the low halves.
[[gnu::always_inline]] inline __m512 bf16_pairs(__m512 low, __m512 high) {
  const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24,
                                         8, 23, 7, 22, 6, 21, 5, 20, 4,  //
                                         19, 3, 18, 2, 17, 1, 16, 0);
  const auto both = __m512i(_mm512_cvtne2ps_pbh(high, low));
  return _mm512_castsi512_ps(_mm512_permutexvar_epi16(order, both));
}

/// Both halves of every word times x, to nearest, ties to even.
[[gnu::always_inline]] inline __m512 scale_pairs(__m512 words, __m512 x) {
  const auto bits = __m512i(words);
  const auto low = __m512(_mm512_slli_epi32(bits, 16));
  const auto high = __m512(_mm512_and_si512(bits, _mm512_set1_epi32(int(0xffff0000))));
  return bf16_pairs(low * x, high * x);
}

/// c + both halves of a.
[[gnu::always_inline]] inline __m512 add_pairs(__m512 a, __m512 c) {
  return dot(a, _mm512_castsi512_ps(_mm512_set1_epi32(0x3f803f80)), c);
}

/// 2^x of both as bf16, from z: src/prim/rough_exp2.h. What it needs stays in registers.
class RoughPower {
 public:
  [[gnu::always_inline]] __m512 operator()(__m512 z_low, __m512 z_high) const {
    const __m512i z = _mm512_shuffle_epi8(
        _mm512_packus_epi32(_mm512_cvtps_epi32(z_low), _mm512_cvtps_epi32(z_high)), interleave_);
    const __m512i line = _mm512_mask_permutexvar_epi8(
        ones_, 0x5555555555555555, _mm512_multishift_epi64_epi8(lines_, z), table_);
    return _mm512_castsi512_ps(_mm512_srli_epi16(_mm512_sub_epi16(line, z), 1));
  }

 private:
  [[gnu::always_inline]] static inline __m512i held(__m512i x) {
    asm("" : "+v"(x));
    return x;
  }

  /// Of 8 words in 16 bytes.
  __m512i interleave_ = held(_mm512_set4_epi32(0x0f0e0706, 0x0d0c0504, 0x0b0a0302, 0x09080100));
  /// Bits 2 to 9 of each word, in its low byte: a shift would take the port that converts.
  __m512i lines_ = held(_mm512_set1_epi64(0x3a32'2a22'1a12'0a02));
  __m512i table_ = held(_mm512_load_si512(kRoughTable));
  __m512i ones_ = held(_mm512_set1_epi8(-1));
};

/// A lane holds two neighbours.
template <>
struct PairLoader<contract::RowFormat::bf16> : LoadedRows<1, 1, 32> {
  static constexpr int kLaneColumns = 2;

  template <int N>
  [[gnu::always_inline]] static void load(RowAt row, std::int64_t v, __m512 (&x)[N]) {
#pragma GCC unroll 8
    for (int n = 0; n < N; ++n) x[n] = _mm512_loadu_ps(row.data + 64 * (v + n));
  }
  [[gnu::always_inline]] static __m512 multiply(__m512 x, __m512 query, __m512 sum) {
    return dot(x, query, sum);
  }
  /// x where `kept` is not 0.
  [[gnu::always_inline]] static __m512 keep(__m512 x, __m512 kept) {
    const auto bits = __m512i(kept);
    return __m512(_mm512_maskz_mov_epi16(_mm512_test_epi16_mask(bits, bits), __m512i(x)));
  }
};

}  // namespace regard::REGARD_ISA

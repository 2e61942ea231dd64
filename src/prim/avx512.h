// The operations kernels may call, for AVX-512 (F, BW, DQ, VL, CD). Masks are native.
// Arithmetic operators work on the vector types as they are.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace regard::REGARD_ISA {

template <class T>
struct Simd;

template <>
struct Simd<float> {
  using Vector = __m512;
  using Mask = __mmask16;
  static constexpr int kLanes = 16;
  static constexpr bool kScalesByFloor = true;
  static constexpr int kTileVectors = 3;  // 8 x 3 accumulators, 3 vectors, 1 broadcast: 28 of 32
  static constexpr int kTileKeys = 8;
};

template <>
struct Simd<double> {
  using Vector = __m512d;
  using Mask = __mmask8;
  static constexpr int kLanes = 8;
  static constexpr bool kScalesByFloor = true;
  static constexpr int kTileVectors = 3;
  static constexpr int kTileKeys = 8;
};

[[gnu::always_inline]] inline __m512 load(const float* p) {
  return _mm512_load_ps(p);
}
[[gnu::always_inline]] inline __m512d load(const double* p) {
  return _mm512_load_pd(p);
}
[[gnu::always_inline]] inline void store(float* p, __m512 a) {
  _mm512_store_ps(p, a);
}
[[gnu::always_inline]] inline void store(double* p, __m512d a) {
  _mm512_store_pd(p, a);
}
[[gnu::always_inline]] inline __m512 broadcast(float x) {
  return _mm512_set1_ps(x);
}
[[gnu::always_inline]] inline __m512d broadcast(double x) {
  return _mm512_set1_pd(x);
}

/// a b + c, rounded once.
[[gnu::always_inline]] inline __m512 fma(__m512 a, __m512 b, __m512 c) {
  return _mm512_fmadd_ps(a, b, c);
}
[[gnu::always_inline]] inline __m512d fma(__m512d a, __m512d b, __m512d c) {
  return _mm512_fmadd_pd(a, b, c);
}

/// a b + c where the mask is set, c untouched elsewhere.
[[gnu::always_inline]] inline __m512 fma_where(__mmask16 mask, __m512 a, __m512 b, __m512 c) {
  return _mm512_mask3_fmadd_ps(a, b, c, mask);
}
[[gnu::always_inline]] inline __m512d fma_where(__mmask8 mask, __m512d a, __m512d b, __m512d c) {
  return _mm512_mask3_fmadd_pd(a, b, c, mask);
}

/// a > b ? a : b, so a NaN in a is ignored and a NaN in b stays.
[[gnu::always_inline]] inline __m512 maximum(__m512 a, __m512 b) {
  return _mm512_max_ps(a, b);
}
[[gnu::always_inline]] inline __m512d maximum(__m512d a, __m512d b) {
  return _mm512_max_pd(a, b);
}

/// a < b ? a : b, so a NaN in a is ignored and a NaN in b stays.
[[gnu::always_inline]] inline __m512 minimum(__m512 a, __m512 b) {
  return _mm512_min_ps(a, b);
}
[[gnu::always_inline]] inline __m512d minimum(__m512d a, __m512d b) {
  return _mm512_min_pd(a, b);
}

[[gnu::always_inline]] inline __m512 magnitude(__m512 a) {
  return _mm512_abs_ps(a);
}
[[gnu::always_inline]] inline __m512d magnitude(__m512d a) {
  return _mm512_abs_pd(a);
}

[[gnu::always_inline]] inline __mmask16 greater(__m512 a, __m512 b) {
  return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ);
}
[[gnu::always_inline]] inline __mmask8 greater(__m512d a, __m512d b) {
  return _mm512_cmp_pd_mask(a, b, _CMP_GT_OQ);
}

/// The lanes whose bits are set, lane 0 first.
template <class T>
[[gnu::always_inline]] inline typename Simd<T>::Mask lanes_of(std::uint64_t bits) {
  return typename Simd<T>::Mask(bits);
}

/// mask ? a : b.
[[gnu::always_inline]] inline __m512 select(__mmask16 mask, __m512 a, __m512 b) {
  return _mm512_mask_mov_ps(b, mask, a);
}
[[gnu::always_inline]] inline __m512d select(__mmask8 mask, __m512d a, __m512d b) {
  return _mm512_mask_mov_pd(b, mask, a);
}

/// Bit n: lane n of a equals that of b.
[[gnu::always_inline]] inline std::uint64_t equal_lanes(__m512 a, __m512 b) {
  return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ);
}
[[gnu::always_inline]] inline std::uint64_t equal_lanes(__m512d a, __m512d b) {
  return _mm512_cmp_pd_mask(a, b, _CMP_EQ_OQ);
}

/// Lane j of vector i becomes lane i of vector j. Pairs, then pairs of pairs within 16 bytes, then
/// whole 16 bytes.
inline void transpose(__m512 (&r)[16]) {
  __m512 t[16];
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
  }
  const auto low = [](__m512 a, __m512 b) {
    return _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)));
  };
  const auto high = [](__m512 a, __m512 b) {
    return _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)));
  };
  for (int i = 0; i < 16; i += 4) {
    r[i] = low(t[i], t[i + 2]);
    r[i + 1] = high(t[i], t[i + 2]);
    r[i + 2] = low(t[i + 1], t[i + 3]);
    r[i + 3] = high(t[i + 1], t[i + 3]);
  }
  for (int c = 0; c < 4; ++c) {
    const __m512 even = _mm512_shuffle_f32x4(r[c], r[4 + c], 0x88);
    const __m512 odd = _mm512_shuffle_f32x4(r[c], r[4 + c], 0xdd);
    const __m512 even_below = _mm512_shuffle_f32x4(r[8 + c], r[12 + c], 0x88);
    const __m512 odd_below = _mm512_shuffle_f32x4(r[8 + c], r[12 + c], 0xdd);
    t[c] = _mm512_shuffle_f32x4(even, even_below, 0x88);
    t[4 + c] = _mm512_shuffle_f32x4(odd, odd_below, 0x88);
    t[8 + c] = _mm512_shuffle_f32x4(even, even_below, 0xdd);
    t[12 + c] = _mm512_shuffle_f32x4(odd, odd_below, 0xdd);
  }
  for (int i = 0; i < 16; ++i) r[i] = t[i];
}
inline void transpose(__m512d (&r)[8]) {
  __m512d t[8];
  for (int i = 0; i < 8; i += 2) {
    t[i] = _mm512_unpacklo_pd(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_pd(r[i], r[i + 1]);
  }
  for (int c = 0; c < 2; ++c) {
    const __m512d even = _mm512_shuffle_f64x2(t[c], t[2 + c], 0x88);
    const __m512d odd = _mm512_shuffle_f64x2(t[c], t[2 + c], 0xdd);
    const __m512d even_below = _mm512_shuffle_f64x2(t[4 + c], t[6 + c], 0x88);
    const __m512d odd_below = _mm512_shuffle_f64x2(t[4 + c], t[6 + c], 0xdd);
    r[c] = _mm512_shuffle_f64x2(even, even_below, 0x88);
    r[2 + c] = _mm512_shuffle_f64x2(odd, odd_below, 0x88);
    r[4 + c] = _mm512_shuffle_f64x2(even, even_below, 0xdd);
    r[6 + c] = _mm512_shuffle_f64x2(odd, odd_below, 0xdd);
  }
}

/// Lane n is the sum of the lanes of a[n], by halves, quarters and so on: each of 15 merges takes
/// two vectors to one with half of either, 45 instructions in all. The order does not depend on n.
[[gnu::always_inline]] inline __m512 sum_each(__m512 (&a)[16]) {
  __m512 t[8];
  __m512 u[4];
  __m512 w[2];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    t[i] =
        _mm512_mask_blend_ps(0xff00, a[i], a[i + 8]) + _mm512_shuffle_f32x4(a[i], a[i + 8], 0x4e);
  }
  const __m512i quarters =
      _mm512_setr_epi32(4, 5, 6, 7, 16, 17, 18, 19, 12, 13, 14, 15, 24, 25, 26, 27);
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    u[i] = _mm512_mask_blend_ps(0xf0f0, t[i], t[i + 4]) +
           _mm512_permutex2var_ps(t[i], quarters, t[i + 4]);
  }
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {
    w[i] = _mm512_mask_blend_ps(0xcccc, u[i], u[i + 2]) + _mm512_shuffle_ps(u[i], u[i + 2], 0x4e);
  }
  const __m512i ones = _mm512_setr_epi32(1, 16, 3, 18, 5, 20, 7, 22, 9, 24, 11, 26, 13, 28, 15, 30);
  return _mm512_mask_blend_ps(0xaaaa, w[0], w[1]) + _mm512_permutex2var_ps(w[0], ones, w[1]);
}

/// Bit n: byte n of 64 is not 0.
[[gnu::always_inline]] inline std::uint64_t bytes_set(const std::uint8_t* bytes) {
  const __m512i x = _mm512_loadu_si512(bytes);
  return _mm512_test_epi8_mask(x, x);
}

[[gnu::always_inline]] inline bool any(__mmask16 mask) {
  return mask != 0;
}

/// Nearest integer, ties to even; infinities stay.
[[gnu::always_inline]] inline __m512 round_to_integer(__m512 a) {
  return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
[[gnu::always_inline]] inline __m512d round_to_integer(__m512d a) {
  return _mm512_roundscale_pd(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

/// x - floor(x), rounded; 0 for infinities.
[[gnu::always_inline]] inline __m512 above_floor(__m512 x) {
  return _mm512_reduce_ps(x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}
[[gnu::always_inline]] inline __m512d above_floor(__m512d x) {
  return _mm512_reduce_pd(x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}

/// a 2^floor(x); 0 at -infinity.
[[gnu::always_inline]] inline __m512 times_power_of_floor(__m512 a, __m512 x) {
  return _mm512_scalef_ps(a, x);
}
[[gnu::always_inline]] inline __m512d times_power_of_floor(__m512d a, __m512d x) {
  return _mm512_scalef_pd(a, x);
}

/// a 2^n for an integral n; n below the exponent range gives 0 (NaN if a is NaN), above it
/// infinity. The maximum keeps n finite: the instruction would turn a NaN into 0 at n = -infinity.
[[gnu::always_inline]] inline __m512 times_power_of_two(__m512 a, __m512 n) {
  return _mm512_scalef_ps(a, maximum(broadcast(-512.0f), n));
}
[[gnu::always_inline]] inline __m512d times_power_of_two(__m512d a, __m512d n) {
  return _mm512_scalef_pd(a, maximum(broadcast(-4096.0), n));
}

}  // namespace regard::REGARD_ISA

#include "prim/convert_x86.h"
#include "prim/flush_x86.h"
#include "prim/row_loader_avx512.h"
#include "prim/row_loader_avx512_blocks.h"
#include "prim/row_loader_avx512_fp8.h"

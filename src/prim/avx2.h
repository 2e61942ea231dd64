// The operations kernels may call, for AVX2 with FMA. Masks are vectors of all-ones lanes.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace regard::REGARD_ISA {

template <class T>
struct Simd;

template <>
struct Simd<float> {
  using Vector = __m256;
  struct Mask {
    __m256 bits;
  };
  static constexpr int kLanes = 8;
  static constexpr bool kScalesByFloor = false;
  static constexpr int kTileVectors = 3;  // 4 x 3 accumulators, 3 vectors, 1 broadcast: all 16
  static constexpr int kTileKeys = 4;
};

template <>
struct Simd<double> {
  using Vector = __m256d;
  struct Mask {
    __m256d bits;
  };
  static constexpr int kLanes = 4;
  static constexpr bool kScalesByFloor = false;
  static constexpr int kTileVectors = 3;
  static constexpr int kTileKeys = 4;
};

using MaskF32 = Simd<float>::Mask;
using MaskF64 = Simd<double>::Mask;

[[gnu::always_inline]] inline __m256 load(const float* p) {
  return _mm256_load_ps(p);
}
[[gnu::always_inline]] inline __m256d load(const double* p) {
  return _mm256_load_pd(p);
}
[[gnu::always_inline]] inline void store(float* p, __m256 a) {
  _mm256_store_ps(p, a);
}
[[gnu::always_inline]] inline void store(double* p, __m256d a) {
  _mm256_store_pd(p, a);
}
[[gnu::always_inline]] inline __m256 broadcast(float x) {
  return _mm256_set1_ps(x);
}
[[gnu::always_inline]] inline __m256d broadcast(double x) {
  return _mm256_set1_pd(x);
}

/// a b + c, rounded once.
[[gnu::always_inline]] inline __m256 fma(__m256 a, __m256 b, __m256 c) {
  return _mm256_fmadd_ps(a, b, c);
}
[[gnu::always_inline]] inline __m256d fma(__m256d a, __m256d b, __m256d c) {
  return _mm256_fmadd_pd(a, b, c);
}

/// mask ? a : b.
[[gnu::always_inline]] inline __m256 select(MaskF32 mask, __m256 a, __m256 b) {
  return _mm256_blendv_ps(b, a, mask.bits);
}
[[gnu::always_inline]] inline __m256d select(MaskF64 mask, __m256d a, __m256d b) {
  return _mm256_blendv_pd(b, a, mask.bits);
}

/// a b + c where the mask is set, c untouched elsewhere.
[[gnu::always_inline]] inline __m256 fma_where(MaskF32 mask, __m256 a, __m256 b, __m256 c) {
  return select(mask, fma(a, b, c), c);
}
[[gnu::always_inline]] inline __m256d fma_where(MaskF64 mask, __m256d a, __m256d b, __m256d c) {
  return select(mask, fma(a, b, c), c);
}

/// a > b ? a : b, so a NaN in a is ignored and a NaN in b stays.
[[gnu::always_inline]] inline __m256 maximum(__m256 a, __m256 b) {
  return _mm256_max_ps(a, b);
}
[[gnu::always_inline]] inline __m256d maximum(__m256d a, __m256d b) {
  return _mm256_max_pd(a, b);
}

/// a < b ? a : b, so a NaN in a is ignored and a NaN in b stays.
[[gnu::always_inline]] inline __m256 minimum(__m256 a, __m256 b) {
  return _mm256_min_ps(a, b);
}
[[gnu::always_inline]] inline __m256d minimum(__m256d a, __m256d b) {
  return _mm256_min_pd(a, b);
}

[[gnu::always_inline]] inline __m256 magnitude(__m256 a) {
  return _mm256_andnot_ps(broadcast(-0.0f), a);
}
[[gnu::always_inline]] inline __m256d magnitude(__m256d a) {
  return _mm256_andnot_pd(broadcast(-0.0), a);
}

[[gnu::always_inline]] inline MaskF32 greater(__m256 a, __m256 b) {
  return {_mm256_cmp_ps(a, b, _CMP_GT_OQ)};
}
[[gnu::always_inline]] inline MaskF64 greater(__m256d a, __m256d b) {
  return {_mm256_cmp_pd(a, b, _CMP_GT_OQ)};
}

/// The lanes whose bits are set, lane 0 first.
template <class T>
[[gnu::always_inline]] inline typename Simd<T>::Mask lanes_of(std::uint64_t bits) {
  if constexpr (sizeof(T) == 4) {
    const __m256i lanes = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    const __m256i set = _mm256_and_si256(_mm256_set1_epi32(int(bits)), lanes);
    return {_mm256_castsi256_ps(_mm256_cmpeq_epi32(set, lanes))};
  } else {
    const __m256i lanes = _mm256_setr_epi64x(1, 2, 4, 8);
    const __m256i set = _mm256_and_si256(_mm256_set1_epi64x((long long)(bits)), lanes);
    return {_mm256_castsi256_pd(_mm256_cmpeq_epi64(set, lanes))};
  }
}

/// Bit n: lane n of a equals that of b.
[[gnu::always_inline]] inline std::uint64_t equal_lanes(__m256 a, __m256 b) {
  return std::uint64_t(_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_EQ_OQ)));
}
[[gnu::always_inline]] inline std::uint64_t equal_lanes(__m256d a, __m256d b) {
  return std::uint64_t(_mm256_movemask_pd(_mm256_cmp_pd(a, b, _CMP_EQ_OQ)));
}

/// Lane j of vector i becomes lane i of vector j.
inline void transpose(__m256 (&r)[8]) {
  __m256 t[8];
  for (int i = 0; i < 8; i += 2) {
    t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    r[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
    r[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
    r[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
    r[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
  }
  for (int c = 0; c < 4; ++c) {
    t[c] = _mm256_permute2f128_ps(r[c], r[4 + c], 0x20);
    t[4 + c] = _mm256_permute2f128_ps(r[c], r[4 + c], 0x31);
  }
  for (int i = 0; i < 8; ++i) r[i] = t[i];
}
inline void transpose(__m256d (&r)[4]) {
  __m256d t[4];
  for (int i = 0; i < 4; i += 2) {
    t[i] = _mm256_unpacklo_pd(r[i], r[i + 1]);
    t[i + 1] = _mm256_unpackhi_pd(r[i], r[i + 1]);
  }
  for (int c = 0; c < 2; ++c) {
    r[c] = _mm256_permute2f128_pd(t[c], t[2 + c], 0x20);
    r[2 + c] = _mm256_permute2f128_pd(t[c], t[2 + c], 0x31);
  }
}

/// Bit n: byte n of 64 is not 0.
[[gnu::always_inline]] inline std::uint64_t bytes_set(const std::uint8_t* bytes) {
  const auto clear = [](const std::uint8_t* p) {
    const __m256i x = _mm256_loadu_si256(static_cast<const __m256i*>(static_cast<const void*>(p)));
    return std::uint32_t(_mm256_movemask_epi8(_mm256_cmpeq_epi8(x, _mm256_setzero_si256())));
  };
  return ~(std::uint64_t(clear(bytes + 32)) << 32 | clear(bytes));
}

[[gnu::always_inline]] inline bool any(MaskF32 mask) {
  return _mm256_movemask_ps(mask.bits) != 0;
}
[[gnu::always_inline]] inline bool any(MaskF64 mask) {
  return _mm256_movemask_pd(mask.bits) != 0;
}

/// Nearest integer, ties to even; infinities stay.
[[gnu::always_inline]] inline __m256 round_to_integer(__m256 a) {
  return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
[[gnu::always_inline]] inline __m256d round_to_integer(__m256d a) {
  return _mm256_round_pd(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

/// a 2^n for an integral n; n below the exponent range gives 0 (NaN if a is NaN), above it
/// infinity. Adding 1.5 2^(mantissa bits) leaves n in the low bits, from where it moves to the
/// exponent.
[[gnu::always_inline]] inline __m256 times_power_of_two(__m256 a, __m256 n) {
  n = minimum(broadcast(128.0f), maximum(broadcast(-127.0f), n));
  const __m256i low = _mm256_castps_si256(n + broadcast(0x1.8p23f));
  const __m256i biased = _mm256_add_epi32(low, _mm256_set1_epi32(127));
  return a * _mm256_castsi256_ps(_mm256_slli_epi32(biased, 23));
}
[[gnu::always_inline]] inline __m256d times_power_of_two(__m256d a, __m256d n) {
  n = minimum(broadcast(1024.0), maximum(broadcast(-1023.0), n));
  const __m256i low = _mm256_castpd_si256(n + broadcast(0x1.8p52));
  const __m256i biased = _mm256_add_epi64(low, _mm256_set1_epi64x(1023));
  return a * _mm256_castsi256_pd(_mm256_slli_epi64(biased, 52));
}

}  // namespace regard::REGARD_ISA

#include "prim/convert_x86.h"
#include "prim/flush_x86.h"
#include "prim/row_loader_avx2.h"
#include "prim/row_loader_avx2_integers.h"

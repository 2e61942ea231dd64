// The operations kernels may call, for NEON of aarch64. Masks are vectors of all-ones lanes.
#pragma once

#include <arm_neon.h>

#include <cstdint>

namespace regard::REGARD_ISA {

template <class T>
struct Simd;

template <>
struct Simd<float> {
  using Vector = float32x4_t;
  struct Mask {
    uint32x4_t bits;
  };
  static constexpr int kLanes = 4;
  static constexpr bool kScalesByFloor = false;
  static constexpr int kTileVectors = 3;  // 8 x 3 accumulators, 3 vectors, 1 broadcast: 28 of 32
  static constexpr int kTileKeys = 8;
};

template <>
struct Simd<double> {
  using Vector = float64x2_t;
  struct Mask {
    uint64x2_t bits;
  };
  static constexpr int kLanes = 2;
  static constexpr bool kScalesByFloor = false;
  static constexpr int kTileVectors = 3;
  static constexpr int kTileKeys = 8;
};

using MaskF32 = Simd<float>::Mask;
using MaskF64 = Simd<double>::Mask;

[[gnu::always_inline]] inline float32x4_t load(const float* p) {
  return vld1q_f32(p);
}
[[gnu::always_inline]] inline float64x2_t load(const double* p) {
  return vld1q_f64(p);
}
[[gnu::always_inline]] inline void store(float* p, float32x4_t a) {
  vst1q_f32(p, a);
}
[[gnu::always_inline]] inline void store(double* p, float64x2_t a) {
  vst1q_f64(p, a);
}
[[gnu::always_inline]] inline float32x4_t broadcast(float x) {
  return vdupq_n_f32(x);
}
[[gnu::always_inline]] inline float64x2_t broadcast(double x) {
  return vdupq_n_f64(x);
}

/// a b + c, rounded once.
[[gnu::always_inline]] inline float32x4_t fma(float32x4_t a, float32x4_t b, float32x4_t c) {
  return vfmaq_f32(c, a, b);
}
[[gnu::always_inline]] inline float64x2_t fma(float64x2_t a, float64x2_t b, float64x2_t c) {
  return vfmaq_f64(c, a, b);
}

/// mask ? a : b.
[[gnu::always_inline]] inline float32x4_t select(MaskF32 mask, float32x4_t a, float32x4_t b) {
  return vbslq_f32(mask.bits, a, b);
}
[[gnu::always_inline]] inline float64x2_t select(MaskF64 mask, float64x2_t a, float64x2_t b) {
  return vbslq_f64(mask.bits, a, b);
}

/// a b + c where the mask is set, c untouched elsewhere.
[[gnu::always_inline]] inline float32x4_t fma_where(MaskF32 mask, float32x4_t a, float32x4_t b,
                                                    float32x4_t c) {
  return select(mask, fma(a, b, c), c);
}
[[gnu::always_inline]] inline float64x2_t fma_where(MaskF64 mask, float64x2_t a, float64x2_t b,
                                                    float64x2_t c) {
  return select(mask, fma(a, b, c), c);
}

[[gnu::always_inline]] inline MaskF32 greater(float32x4_t a, float32x4_t b) {
  return {vcgtq_f32(a, b)};
}
[[gnu::always_inline]] inline MaskF64 greater(float64x2_t a, float64x2_t b) {
  return {vcgtq_f64(a, b)};
}

/// a > b ? a : b, so a NaN in a is ignored and a NaN in b stays. FMAX and FMAXNM treat both
/// operands alike.
[[gnu::always_inline]] inline float32x4_t maximum(float32x4_t a, float32x4_t b) {
  return select(greater(a, b), a, b);
}
[[gnu::always_inline]] inline float64x2_t maximum(float64x2_t a, float64x2_t b) {
  return select(greater(a, b), a, b);
}

/// a < b ? a : b, so a NaN in a is ignored and a NaN in b stays.
[[gnu::always_inline]] inline float32x4_t minimum(float32x4_t a, float32x4_t b) {
  return select(greater(b, a), a, b);
}
[[gnu::always_inline]] inline float64x2_t minimum(float64x2_t a, float64x2_t b) {
  return select(greater(b, a), a, b);
}

[[gnu::always_inline]] inline float32x4_t magnitude(float32x4_t a) {
  return vabsq_f32(a);
}
[[gnu::always_inline]] inline float64x2_t magnitude(float64x2_t a) {
  return vabsq_f64(a);
}

/// 1 << n in lane n.
[[gnu::always_inline]] inline uint32x4_t lane_bits_f32() {
  return uint32x4_t{1, 2, 4, 8};
}
[[gnu::always_inline]] inline uint64x2_t lane_bits_f64() {
  return uint64x2_t{1, 2};
}

/// The lanes whose bits are set, lane 0 first.
template <class T>
[[gnu::always_inline]] inline typename Simd<T>::Mask lanes_of(std::uint64_t bits) {
  if constexpr (sizeof(T) == 4) {
    return {vtstq_u32(vdupq_n_u32(std::uint32_t(bits)), lane_bits_f32())};
  } else {
    return {vtstq_u64(vdupq_n_u64(bits), lane_bits_f64())};
  }
}

/// Bit n: lane n of a equals that of b.
[[gnu::always_inline]] inline std::uint64_t equal_lanes(float32x4_t a, float32x4_t b) {
  return vaddvq_u32(vandq_u32(vceqq_f32(a, b), lane_bits_f32()));
}
[[gnu::always_inline]] inline std::uint64_t equal_lanes(float64x2_t a, float64x2_t b) {
  return vaddvq_u64(vandq_u64(vceqq_f64(a, b), lane_bits_f64()));
}

/// Lane j of vector i becomes lane i of vector j.
inline void transpose(float32x4_t (&r)[4]) {
  float64x2_t t[4];  // pairs
  for (int i = 0; i < 4; i += 2) {
    t[i] = vreinterpretq_f64_f32(vtrn1q_f32(r[i], r[i + 1]));
    t[i + 1] = vreinterpretq_f64_f32(vtrn2q_f32(r[i], r[i + 1]));
  }
  for (int c = 0; c < 2; ++c) {
    r[c] = vreinterpretq_f32_f64(vtrn1q_f64(t[c], t[2 + c]));
    r[2 + c] = vreinterpretq_f32_f64(vtrn2q_f64(t[c], t[2 + c]));
  }
}
inline void transpose(float64x2_t (&r)[2]) {
  const float64x2_t first = vtrn1q_f64(r[0], r[1]);
  r[1] = vtrn2q_f64(r[0], r[1]);
  r[0] = first;
}

/// Bit n: byte n of 64 is not 0. Each byte takes the bit of its place among eight; neighbours are
/// added until eight are one.
[[gnu::always_inline]] inline std::uint64_t bytes_set(const std::uint8_t* bytes) {
  const uint8x16_t places = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  const auto set = [&](int n) {
    const uint8x16_t x = vld1q_u8(bytes + 16 * n);
    return vandq_u8(vtstq_u8(x, x), places);
  };
  const uint8x16_t pairs = vpaddq_u8(vpaddq_u8(set(0), set(1)), vpaddq_u8(set(2), set(3)));
  return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(pairs, pairs)), 0);
}

[[gnu::always_inline]] inline bool any(MaskF32 mask) {
  return vmaxvq_u32(mask.bits) != 0;
}
[[gnu::always_inline]] inline bool any(MaskF64 mask) {
  return vmaxvq_u32(vreinterpretq_u32_u64(mask.bits)) != 0;
}

/// Nearest integer, ties to even; infinities stay.
[[gnu::always_inline]] inline float32x4_t round_to_integer(float32x4_t a) {
  return vrndnq_f32(a);
}
[[gnu::always_inline]] inline float64x2_t round_to_integer(float64x2_t a) {
  return vrndnq_f64(a);
}

/// a 2^n for an integral n; n below the exponent range gives 0 (NaN if a is NaN), above it
/// infinity. Adding 1.5 2^(mantissa bits) leaves n in the low bits, from where it moves to the
/// exponent.
[[gnu::always_inline]] inline float32x4_t times_power_of_two(float32x4_t a, float32x4_t n) {
  n = minimum(broadcast(128.0f), maximum(broadcast(-127.0f), n));
  const int32x4_t low = vreinterpretq_s32_f32(n + broadcast(0x1.8p23f));
  const int32x4_t biased = vaddq_s32(low, vdupq_n_s32(127));
  return a * vreinterpretq_f32_s32(vshlq_n_s32(biased, 23));
}
[[gnu::always_inline]] inline float64x2_t times_power_of_two(float64x2_t a, float64x2_t n) {
  n = minimum(broadcast(1024.0), maximum(broadcast(-1023.0), n));
  const int64x2_t low = vreinterpretq_s64_f64(n + broadcast(0x1.8p52));
  const int64x2_t biased = vaddq_s64(low, vdupq_n_s64(1023));
  return a * vreinterpretq_f64_s64(vshlq_n_s64(biased, 52));
}

}  // namespace regard::REGARD_ISA

#include "prim/convert_aarch64.h"
#include "prim/flush_aarch64.h"
#include "prim/row_loader_neon.h"

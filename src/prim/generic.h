// The operations kernels may call, for any CPU: the compiler's own 16-byte vectors, no intrinsics.
// fma rounds twice here; only the other ISAs promise one rounding.
#pragma once

#include <bit>
#include <cstdint>

namespace regard::REGARD_ISA {

template <class T>
struct Simd;

template <>
struct Simd<float> {
  using Vector [[gnu::vector_size(16)]] = float;
  using Mask [[gnu::vector_size(16)]] = std::int32_t;
  static constexpr int kLanes = 4;
  static constexpr bool kScalesByFloor = false;
  static constexpr int kTileVectors = 2;  // 4 x 2 accumulators, 2 vectors, products: 16 registers
  static constexpr int kTileKeys = 4;
};

template <>
struct Simd<double> {
  using Vector [[gnu::vector_size(16)]] = double;
  using Mask [[gnu::vector_size(16)]] = std::int64_t;
  static constexpr int kLanes = 2;
  static constexpr bool kScalesByFloor = false;
  static constexpr int kTileVectors = 2;
  static constexpr int kTileKeys = 4;
};

using F32 = Simd<float>::Vector;
using F64 = Simd<double>::Vector;
using MaskF32 = Simd<float>::Mask;
using MaskF64 = Simd<double>::Mask;

[[gnu::always_inline]] inline F32 load(const float* p) {
  return *static_cast<const F32*>(static_cast<const void*>(p));
}
[[gnu::always_inline]] inline F64 load(const double* p) {
  return *static_cast<const F64*>(static_cast<const void*>(p));
}
[[gnu::always_inline]] inline void store(float* p, F32 a) {
  *static_cast<F32*>(static_cast<void*>(p)) = a;
}
[[gnu::always_inline]] inline void store(double* p, F64 a) {
  *static_cast<F64*>(static_cast<void*>(p)) = a;
}
[[gnu::always_inline]] inline F32 broadcast(float x) {
  return F32{x, x, x, x};
}
[[gnu::always_inline]] inline F64 broadcast(double x) {
  return F64{x, x};
}

/// a b + c.
template <class V>
[[gnu::always_inline]] inline V fma(V a, V b, V c) {
  return a * b + c;
}

/// mask ? a : b.
[[gnu::always_inline]] inline F32 select(MaskF32 mask, F32 a, F32 b) {
  return mask ? a : b;
}
[[gnu::always_inline]] inline F64 select(MaskF64 mask, F64 a, F64 b) {
  return mask ? a : b;
}

/// a b + c where the mask is set, c untouched elsewhere.
template <class M, class V>
[[gnu::always_inline]] inline V fma_where(M mask, V a, V b, V c) {
  return mask ? fma(a, b, c) : c;
}

/// a > b ? a : b, so a NaN in a is ignored and a NaN in b stays.
template <class V>
[[gnu::always_inline]] inline V maximum(V a, V b) {
  return a > b ? a : b;
}

/// a < b ? a : b, so a NaN in a is ignored and a NaN in b stays.
template <class V>
[[gnu::always_inline]] inline V minimum(V a, V b) {
  return a < b ? a : b;
}

template <class V>
[[gnu::always_inline]] inline V magnitude(V a) {
  return a < V{} ? -a : a;
}

[[gnu::always_inline]] inline MaskF32 greater(F32 a, F32 b) {
  return a > b;
}
[[gnu::always_inline]] inline MaskF64 greater(F64 a, F64 b) {
  return a > b;
}

/// The lanes whose bits are set, lane 0 first.
template <class T>
[[gnu::always_inline]] inline typename Simd<T>::Mask lanes_of(std::uint64_t bits) {
  typename Simd<T>::Mask mask;
  for (int lane = 0; lane < Simd<T>::kLanes; ++lane) mask[lane] = bits >> lane & 1 ? -1 : 0;
  return mask;
}

/// Bit n: lane n of a equals that of b.
template <class V>
[[gnu::always_inline]] inline std::uint64_t equal_lanes(V a, V b) {
  const auto equal = a == b;
  std::uint64_t bits = 0;
  for (unsigned lane = 0; lane < sizeof(V) / sizeof(a[0]); ++lane) {
    bits |= std::uint64_t(equal[lane] != 0) << lane;
  }
  return bits;
}

/// Lane j of vector i becomes lane i of vector j.
template <class V, int kCount>
inline void transpose(V (&r)[kCount]) {
  for (int i = 0; i < kCount; ++i) {
    for (int j = 0; j < i; ++j) {
      const auto x = r[i][j];
      r[i][j] = r[j][i];
      r[j][i] = x;
    }
  }
}

/// Bit n: byte n of 64 is not 0. Eight bytes at a time: the top bit of each tells, and one product
/// brings the eight top bits together.
[[gnu::always_inline]] inline std::uint64_t bytes_set(const std::uint8_t* bytes) {
  constexpr std::uint64_t low = 0x7f7f7f7f7f7f7f7f;
  std::uint64_t bits = 0;
  for (int n = 0; n < 8; ++n) {
    std::uint64_t x = 0;
    for (int byte = 0; byte < 8; ++byte) x |= std::uint64_t(bytes[8 * n + byte]) << (8 * byte);
    const std::uint64_t set = (((x & low) + low) | x) & ~low;
    bits |= (set >> 7) * 0x0102040810204080 >> 56 << (8 * n);
  }
  return bits;
}

[[gnu::always_inline]] inline bool any(MaskF32 mask) {
  return (mask[0] | mask[1] | mask[2] | mask[3]) != 0;
}
[[gnu::always_inline]] inline bool any(MaskF64 mask) {
  return (mask[0] | mask[1]) != 0;
}

/// Nearest integer, ties to even, for |a| < 2^22 (2^51); beyond that some value near a, and
/// infinities stay. Adding and removing 1.5 2^(mantissa bits) rounds away the fraction.
[[gnu::always_inline]] inline F32 round_to_integer(F32 a) {
  const F32 magic = broadcast(0x1.8p23f);
  return magnitude(a) < 0x1p22f ? (a + magic) - magic : a;
}
[[gnu::always_inline]] inline F64 round_to_integer(F64 a) {
  const F64 magic = broadcast(0x1.8p52);
  return magnitude(a) < 0x1p51 ? (a + magic) - magic : a;
}

using BitsF32 [[gnu::vector_size(16)]] = std::uint32_t;
using BitsF64 [[gnu::vector_size(16)]] = std::uint64_t;

/// a 2^n for an integral n; n below the exponent range gives 0 (NaN if a is NaN), above it
/// infinity. Adding 1.5 2^(mantissa bits) leaves n in the low bits, from where it moves to the
/// exponent.
[[gnu::always_inline]] inline F32 times_power_of_two(F32 a, F32 n) {
  n = n < -127.0f ? broadcast(-127.0f) : n;
  n = n > 128.0f ? broadcast(128.0f) : n;
  const auto low = std::bit_cast<BitsF32>(n + broadcast(0x1.8p23f));
  return a * std::bit_cast<F32>((low + 127) << 23);
}
[[gnu::always_inline]] inline F64 times_power_of_two(F64 a, F64 n) {
  n = n < -1023.0 ? broadcast(-1023.0) : n;
  n = n > 1024.0 ? broadcast(1024.0) : n;
  const auto low = std::bit_cast<BitsF64>(n + broadcast(0x1.8p52));
  return a * std::bit_cast<F64>((low + 1023) << 52);
}

}  // namespace regard::REGARD_ISA

#include "prim/convert_generic.h"
#if defined(__aarch64__)
#include "prim/flush_aarch64.h"
#else
#include "prim/flush_x86.h"
#endif

// The formats that NEON turns into vectors of f32 as it loads them: two vectors from eight
// elements.
#pragma once

#include <arm_neon.h>

#include <cstdint>

#include "prim/row_loader.h"

namespace regard::REGARD_ISA {

/// Columns in their order; blocks are of `kTogether` vectors, and no load goes over their borders.
template <int kTogether>
using PairRows = LoadedRows<kTogether, 2, 4 * kTogether>;

[[gnu::always_inline]] inline uint8x8_t load_8_bytes(const std::byte* from) {
  return vld1_u8(static_cast<const std::uint8_t*>(static_cast<const void*>(from)));
}
[[gnu::always_inline]] inline uint16x8_t load_8_halves(const std::byte* from) {
  return vreinterpretq_u16_u8(
      vld1q_u8(static_cast<const std::uint8_t*>(static_cast<const void*>(from))));
}

[[gnu::always_inline]] inline void widen_f16(uint16x8_t halves, float32x4_t* x) {
  const float16x8_t numbers = vreinterpretq_f16_u16(halves);
  x[0] = vcvt_f32_f16(vget_low_f16(numbers));
  x[1] = vcvt_high_f32_f16(numbers);
}

[[gnu::always_inline]] inline void widen_integers(int8x8_t integers, float scale, float32x4_t* x) {
  const int16x8_t words = vmovl_s8(integers);
  x[0] = vcvtq_f32_s32(vmovl_s16(vget_low_s16(words))) * scale;
  x[1] = vcvtq_f32_s32(vmovl_high_s16(words)) * scale;
}

template <>
struct RowLoader<contract::RowFormat::f16> : PairRows<2> {
  template <int N>
  [[gnu::always_inline]] static void load(RowAt row, std::int64_t v, float32x4_t (&x)[N]) {
#pragma GCC unroll 8
    for (int n = 0; n < N; n += 2) widen_f16(load_8_halves(row.data + 8 * (v + n)), x + n);
  }
};

template <>
struct RowLoader<contract::RowFormat::bf16> : PairRows<2> {
  template <int N>
  [[gnu::always_inline]] static void load(RowAt row, std::int64_t v, float32x4_t (&x)[N]) {
#pragma GCC unroll 8
    for (int n = 0; n < N; n += 2) {
      const uint16x8_t halves = load_8_halves(row.data + 8 * (v + n));
      x[n] = vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(halves), 16));
      x[n + 1] = vreinterpretq_f32_u32(vshll_high_n_u16(halves, 16));
    }
  }
};

template <>
struct RowLoader<contract::RowFormat::fp8_e5m2> : PairRows<2> {
  template <int N>
  [[gnu::always_inline]] static void load(RowAt row, std::int64_t v, float32x4_t (&x)[N]) {
#pragma GCC unroll 8
    for (int n = 0; n < N; n += 2) {
      widen_f16(vshlq_n_u16(vmovl_u8(load_8_bytes(row.data + 4 * (v + n))), 8), x + n);
    }
  }
};

template <>
struct RowLoader<contract::RowFormat::fp8_e4m3> : PairRows<2> {
  /// 2^-8 times the elements, as f16. Moved with its sign doubled, a byte is one but for the second
  /// bit, which has to be clear, or set for a NaN. A NaN is all ones below the sign, so that adding
  /// one changes that bit for it alone: the exclusive or of both words is the bit.
  [[gnu::always_inline]] static uint16x8_t halves(uint8x8_t bytes) {
    const uint16x8_t moved =
        vreinterpretq_u16_s16(vshlq_n_s16(vmovl_s8(vreinterpret_s8_u8(bytes)), 7));
    const uint16x8_t carried = vaddq_u16(moved, vdupq_n_u16(0x80));
    return veorq_u16(moved, vandq_u16(carried, vdupq_n_u16(0x4000)));
  }

  template <int N>
  [[gnu::always_inline]] static void load(RowAt row, std::int64_t v, float32x4_t (&x)[N]) {
#pragma GCC unroll 8
    for (int n = 0; n < N; n += 2) {
      widen_f16(halves(load_8_bytes(row.data + 4 * (v + n))), x + n);
      x[n] = x[n] * 0x1p8f;
      x[n + 1] = x[n + 1] * 0x1p8f;
    }
  }
};

template <>
struct RowLoader<contract::RowFormat::int8> : PairRows<2> {
  template <int N>
  [[gnu::always_inline]] static void load(RowAt row, std::int64_t v, float32x4_t (&x)[N]) {
    const float scale = scale_f32(row.scales);
#pragma GCC unroll 8
    for (int n = 0; n < N; n += 2) {
      const uint8x8_t bytes = load_8_bytes(row.data + 4 * (v + n));
      widen_integers(vreinterpret_s8_u8(bytes), scale, x + n);
    }
  }
};

/// Vectors [first, first + N) of a block of eight, of bytes in order.
template <int N>
[[gnu::always_inline]] inline void load_bytes(const std::byte* elements, std::int64_t first,
                                              float scale, float32x4_t (&x)[N]) {
#pragma GCC unroll 8
  for (int n = 0; n < N; n += 2) {
    const uint8x8_t bytes = load_8_bytes(elements + 4 * (first + n));
    widen_integers(vreinterpret_s8_u8(bytes), scale, x + n);
  }
}

/// The same of nibbles: the low ones of the 16 bytes, then the high ones. A nibble at the top of a
/// byte has the right sign once its own top bit is turned.
template <int N>
[[gnu::always_inline]] inline void load_nibbles(const std::byte* elements, std::int64_t first,
                                                float scale, float32x4_t (&x)[N]) {
#pragma GCC unroll 8
  for (int n = 0; n < N; n += 2) {
    const std::int64_t at = first + n;
    const uint8x8_t bytes = veor_u8(load_8_bytes(elements + 4 * (at % 4)), vdup_n_u8(0x88));
    const int8x8_t left = vdup_n_s8(at < 4 ? 4 : 0);
    widen_integers(vshr_n_s8(vshl_s8(vreinterpret_s8_u8(bytes), left), 4), scale, x + n);
  }
}

template <>
struct RowLoader<contract::RowFormat::int8_32> : PairRows<8> {
  template <int N>
  [[gnu::always_inline]] static void load(RowAt row, std::int64_t v, float32x4_t (&x)[N]) {
    load_bytes(row.data + v / 8 * 32, v % 8, scale_f16(row.scales + v / 8 * 2), x);
  }
};

template <>
struct RowLoader<contract::RowFormat::q8_0> : PairRows<8> {
  template <int N>
  [[gnu::always_inline]] static void load(RowAt row, std::int64_t v, float32x4_t (&x)[N]) {
    const std::byte* block = row.data + v / 8 * 34;
    load_bytes(block + 2, v % 8, scale_f16(block), x);
  }
};

template <>
struct RowLoader<contract::RowFormat::int4_32> : PairRows<8> {
  static std::int64_t column(std::int64_t position) {
    return position / 32 * 32 + position % 16 * 2 + position / 16 % 2;
  }

  template <int N>
  [[gnu::always_inline]] static void load(RowAt row, std::int64_t v, float32x4_t (&x)[N]) {
    load_nibbles(row.data + v / 8 * 16, v % 8, scale_f16(row.scales + v / 8 * 2), x);
  }
};

template <>
struct RowLoader<contract::RowFormat::q4_0> : PairRows<8> {
  template <int N>
  [[gnu::always_inline]] static void load(RowAt row, std::int64_t v, float32x4_t (&x)[N]) {
    const std::byte* block = row.data + v / 8 * 18;
    load_nibbles(block + 2, v % 8, scale_f16(block), x);
  }
};

}  // namespace regard::REGARD_ISA

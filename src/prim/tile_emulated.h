// A tile unit for any CPU, with the arithmetic of AMX to the bit: of each 32 terms, the even and
// the odd ones are summed apart by fused multiply-adds from 0, both sums are added, and that to the
// accumulator, to nearest even. Subnormal inputs count as 0, those of the accumulator too, and so
// do results, which FlushDenormals sees to. On generic a product is rounded before it is added,
// which shows only where it leaves the range of normal numbers.
#pragma once

#include <bit>
#include <cstdint>

#include "prim/convert.h"
#include "prim/rough_exp2.h"
#include "prim/tile_operand.h"

namespace regard::REGARD_ISA {

struct EmulatedTiles {
  static constexpr const char* kName = "emulated tiles";
  static constexpr bool kEmulated = true;

  struct Session {
    Session() {}  // NOLINT(modernize-use-equals-default): a variable that looks used
  };

  /// c = or += the sum over `count` chunks of kRows tiles of a, rows of 32 halves, times kColumns
  /// tiles of b, rows of 16 pairs. c has rows of c_row numbers.
  template <int kRows, int kColumns>
  static void multiply(const TileOperand& a, const TileOperand& b, std::int64_t count, bool add,
                       float* c, std::int64_t c_row) {
    for (int i = 0; i < kRows; ++i) {
      for (int j = 0; j < kColumns; ++j) {
        for (int r = 0; r < kTileSide; ++r) {
          multiply_row(a.first + i * a.tile + r * a.row, a.chunk, b.first + j * b.tile, b, count,
                       add, c + (i * kTileSide + r) * c_row + j * kTileSide);
        }
      }
    }
  }

  /// Both to bf16, to nearest, ties to even, `low` in the low halves.
  static Simd<float>::Vector bf16_pairs(Simd<float>::Vector low, Simd<float>::Vector high) {
    constexpr int lanes = Simd<float>::kLanes;
    alignas(64) float both[2][lanes];
    alignas(64) float words[lanes];
    store(both[0], low);
    store(both[1], high);
    for (int n = 0; n < lanes; ++n) {
      words[n] = std::bit_cast<float>(std::uint32_t{f32_to_bf16(both[0][n])} |
                                      std::uint32_t{f32_to_bf16(both[1][n])} << 16);
    }
    return load(words);
  }

  /// c + both halves of a, the high one first, as the dot instruction has it.
  static Simd<float>::Vector add_pairs(Simd<float>::Vector a, Simd<float>::Vector c) {
    constexpr int lanes = Simd<float>::kLanes;
    alignas(64) float low[lanes], high[lanes];
    alignas(64) float words[lanes];
    store(words, a);
    for (int n = 0; n < lanes; ++n) low[n] = low_half(std::bit_cast<std::uint32_t>(words[n]));
    for (int n = 0; n < lanes; ++n) high[n] = high_half(std::bit_cast<std::uint32_t>(words[n]));
    return c + load(high) + load(low);
  }

  /// 2^x of both as bf16, from z: src/prim/rough_exp2.h.
  static Simd<float>::Vector rough_exp2_pairs(Simd<float>::Vector z_low,
                                              Simd<float>::Vector z_high) {
    constexpr int lanes = Simd<float>::kLanes;
    alignas(64) float z[2][lanes];
    alignas(64) float words[lanes];
    store(z[0], z_low);
    store(z[1], z_high);
    for (int n = 0; n < lanes; ++n) {
      words[n] = std::bit_cast<float>(std::uint32_t{rough_bits(clamped(z[0][n]))} |
                                      std::uint32_t{rough_bits(clamped(z[1][n]))} << 16);
    }
    return load(words);
  }

 private:
  /// To the nearest integer of 16 bits, ties to even; NaN gives 0, as does what no integer holds.
  static std::uint16_t clamped(float z) {
    if (!(z > 0)) return 0;
    if (z >= 65535) return 65535;
    return std::uint16_t(std::int32_t(z + 0x1p23f - 0x1p23f));
  }

  static std::uint32_t flushed(std::uint32_t half) {
    return (half & 0x7f80) != 0 ? half : half & 0x8000;
  }
  static float flushed(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    return std::bit_cast<float>((bits & 0x7f800000) != 0 ? bits : bits & 0x80000000);
  }
  static float low_half(std::uint32_t word) {
    return std::bit_cast<float>(flushed(word & 0xffff) << 16);
  }
  static float high_half(std::uint32_t word) {
    return std::bit_cast<float>(flushed(word >> 16) << 16);
  }

  static void multiply_row(const std::uint16_t* a, std::int64_t a_chunk, const std::uint16_t* b,
                           const TileOperand& steps, std::int64_t count, bool add, float* c) {
    constexpr int lanes = Simd<float>::kLanes;
    constexpr int vectors = kTileSide / lanes;
    Simd<float>::Vector sum[vectors];
    alignas(64) float start[kTileSide];
    for (int m = 0; m < kTileSide; ++m) start[m] = add ? flushed(c[m]) : 0.0f;
    for (int j = 0; j < vectors; ++j) sum[j] = load(start + j * lanes);
    for (std::int64_t n = 0; n < count; ++n, a += a_chunk, b += steps.chunk) {
      Simd<float>::Vector even[vectors], odd[vectors];
      for (int j = 0; j < vectors; ++j) even[j] = odd[j] = broadcast(0.0f);
      for (int k = 0; k < kTileSide; ++k) {
        std::uint32_t words[kTileSide];
        __builtin_memcpy(words, b + k * steps.row, sizeof(words));
        alignas(64) float low[kTileSide], high[kTileSide];
        for (int m = 0; m < kTileSide; ++m) low[m] = low_half(words[m]);
        for (int m = 0; m < kTileSide; ++m) high[m] = high_half(words[m]);
        const auto x = broadcast(low_half(a[2 * k]));
        const auto y = broadcast(low_half(a[2 * k + 1]));
        for (int j = 0; j < vectors; ++j) {
          even[j] = fma(x, load(low + j * lanes), even[j]);
          odd[j] = fma(y, load(high + j * lanes), odd[j]);
        }
      }
      for (int j = 0; j < vectors; ++j) sum[j] = sum[j] + (even[j] + odd[j]);
    }
    for (int j = 0; j < vectors; ++j) store(c + j * lanes, sum[j]);
  }
};

}  // namespace regard::REGARD_ISA

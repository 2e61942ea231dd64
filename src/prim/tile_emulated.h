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

  /// As AmxTiles has them, src/prim/tile_amx.h.
  template <int kRows, int kColumns, class Beside = NothingBeside>
  void multiply(const TileStart& start, const TileOperand& a, const TileOperand& b,
                std::int64_t count, const Beside& beside = {}) {
    if (start.held.at) store<kRows, kColumns>(start.held);
    for_each_sum<kRows, kColumns>([&](float* sum, int row, int column) {
      *sum = start.from.at ? start.from.at[row * start.from.row + column] : 0;
    });
    add<kRows, kColumns>(a, b, count);
    for (int n = 0; n < int(count) * kRows * kColumns; ++n) beside(n);
  }

  template <int kRows, int kColumns>
  void add(const TileOperand& a, const TileOperand& b, std::int64_t count) {
    for (int i = 0; i < kRows; ++i) {
      for (int j = 0; j < kColumns; ++j) {
        for (int r = 0; r < kTileSide; ++r) {
          multiply_row(a.first + i * a.tile + r * a.row, a.chunk, b.first + j * b.tile, b, count,
                       sums_[i * kColumns + j][r]);
        }
      }
    }
  }

  template <int kRows, int kColumns>
  void store(const TileSums& sums) {
    for_each_sum<kRows, kColumns>(
        [&](const float* sum, int row, int column) { sums.at[row * sums.row + column] = *sum; });
  }

  /// Both to bf16, to nearest, ties to even, `low` in the low halves.
  static Simd<float>::Vector bf16_pairs(Simd<float>::Vector low, Simd<float>::Vector high) {
    constexpr int lanes = Simd<float>::kLanes;
    alignas(64) float both[2][lanes];
    alignas(64) float words[lanes];
    regard::REGARD_ISA::store(both[0], low);
    regard::REGARD_ISA::store(both[1], high);
    for (int n = 0; n < lanes; ++n) {
      words[n] = std::bit_cast<float>(std::uint32_t{f32_to_bf16(both[0][n])} |
                                      std::uint32_t{f32_to_bf16(both[1][n])} << 16);
    }
    return load(words);
  }

  /// Both halves of every word times x, to nearest, ties to even.
  static Simd<float>::Vector scale_pairs(Simd<float>::Vector words, Simd<float>::Vector x) {
    constexpr int lanes = Simd<float>::kLanes;
    alignas(64) std::uint32_t bits[lanes];
    alignas(64) float low[lanes], high[lanes];
    __builtin_memcpy(bits, &words, sizeof(bits));
    for (int n = 0; n < lanes; ++n) low[n] = std::bit_cast<float>(bits[n] << 16);
    for (int n = 0; n < lanes; ++n) high[n] = std::bit_cast<float>(bits[n] & 0xffff0000);
    return bf16_pairs(load(low) * x, load(high) * x);
  }

  /// 2^x of both as bf16, from z: src/prim/rough_exp2.h.
  struct RoughPower {
    Simd<float>::Vector operator()(Simd<float>::Vector z_low, Simd<float>::Vector z_high) const {
      return rough_powers(z_low, z_high);
    }
  };

 private:
  /// Calls action(sum, row, column) for all of a product's.
  template <int kRows, int kColumns, class Action>
  void for_each_sum(const Action& action) {
    for (int row = 0; row < kRows * kTileSide; ++row) {
      for (int column = 0; column < kColumns * kTileSide; ++column) {
        const int tile = row / kTileSide * kColumns + column / kTileSide;
        action(&sums_[tile][row % kTileSide][column % kTileSide], row, column);
      }
    }
  }

  static Simd<float>::Vector rough_powers(Simd<float>::Vector z_low, Simd<float>::Vector z_high) {
    constexpr int lanes = Simd<float>::kLanes;
    alignas(64) float z[2][lanes];
    alignas(64) float words[lanes];
    regard::REGARD_ISA::store(z[0], z_low);
    regard::REGARD_ISA::store(z[1], z_high);
    for (int n = 0; n < lanes; ++n) {
      words[n] = std::bit_cast<float>(std::uint32_t{rough_bits(clamped(z[0][n]))} |
                                      std::uint32_t{rough_bits(clamped(z[1][n]))} << 16);
    }
    return load(words);
  }

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
                           const TileOperand& steps, std::int64_t count, float* c) {
    constexpr int lanes = Simd<float>::kLanes;
    constexpr int vectors = kTileSide / lanes;
    Simd<float>::Vector sum[vectors];
    alignas(64) float start[kTileSide], end[kTileSide];
    for (int m = 0; m < kTileSide; ++m) start[m] = flushed(c[m]);
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
    for (int j = 0; j < vectors; ++j) regard::REGARD_ISA::store(end + j * lanes, sum[j]);
    __builtin_memcpy(c, end, sizeof(end));
  }

  float sums_[4][kTileSide][kTileSide];  ///< as the registers 0 to 3 hold them
};

}  // namespace regard::REGARD_ISA

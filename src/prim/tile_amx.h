// The tile unit AMX: eight tile registers of 16 rows of 64 bytes.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "contract/kernel_table.h"
#include "prim/avx512_bf16.h"
#include "prim/tile_operand.h"

namespace regard::REGARD_ISA {

struct AmxTiles {
  static constexpr const char* kName = "tile";
  static constexpr bool kEmulated = false;

  /// The tile registers are this thread's, all of full size, until the end.
  class Session {
   public:
    Session() {
      alignas(64) std::uint8_t config[64] = {};
      config[0] = 1;  // palette
      for (int n = 0; n < 8; ++n) {
        config[16 + 2 * n] = 64;  // bytes of a row
        config[48 + n] = kTileSide;
      }
      // The intrinsic tells the compiler of 8 bytes that it reads; the others count as unused.
      asm volatile("" ::"r"(config) : "memory");
      _tile_loadconfig(config);
    }
    ~Session() { _tile_release(); }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
  };

  /// c = or += the sum over `count` chunks of kRows tiles of a, rows of 32 halves, times kColumns
  /// tiles of b, rows of 16 pairs. c has rows of c_row numbers. Both counts are 1 or 2.
  template <int kRows, int kColumns>
  [[gnu::always_inline]] static inline void multiply(const TileOperand& a, const TileOperand& b,
                                                     std::int64_t count, bool add, float* c,
                                                     std::int64_t c_row) {
    // The intrinsics do not tell the compiler that they read and write memory.
    asm volatile("" ::: "memory");
    start_sums<kRows, kColumns>(add, c, c_row);
    const std::uint16_t* left = a.first;
    const std::uint16_t* right = b.first;
    for (std::int64_t n = 0; n < count; ++n, left += a.chunk, right += b.chunk) {
      _tile_loadd(4, left, 2 * a.row);
      _tile_loadd(6, right, 2 * b.row);
      _tile_dpbf16ps(0, 4, 6);
      if constexpr (kColumns == 2) {
        _tile_loadd(7, right + b.tile, 2 * b.row);
        _tile_dpbf16ps(1, 4, 7);
      }
      if constexpr (kRows == 2) {
        _tile_loadd(5, left + a.tile, 2 * a.row);
        _tile_dpbf16ps(2, 5, 6);
      }
      if constexpr (kRows == 2 && kColumns == 2) _tile_dpbf16ps(3, 5, 7);
    }
    store_sums<kRows, kColumns>(c, c_row);
    asm volatile("" ::: "memory");
  }

  static void run_peak(std::int64_t iterations) noexcept {
    const Session session;
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    _tile_zero(4);
    _tile_zero(5);
    _tile_zero(6);
    _tile_zero(7);
    for (std::int64_t n = 0; n < iterations; ++n) {
      _tile_dpbf16ps(0, 4, 6);
      _tile_dpbf16ps(1, 4, 7);
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    }
  }

  /// Four products of 16 x 32 by 32 x 16, two operations for each of their terms.
  static constexpr contract::PeakLoop kPeak = {
      .run = run_peak,
      .flops_per_iteration = std::int64_t{4} * 2 * kTileTerms * kTileSide * kTileSide,
  };

  [[gnu::always_inline]] static inline __m512 bf16_pairs(__m512 low, __m512 high) {
    return regard::REGARD_ISA::bf16_pairs(low, high);
  }
  [[gnu::always_inline]] static inline __m512 add_pairs(__m512 a, __m512 c) {
    return regard::REGARD_ISA::add_pairs(a, c);
  }
  [[gnu::always_inline]] static inline __m512 rough_exp2_pairs(__m512 z_low, __m512 z_high) {
    return regard::REGARD_ISA::rough_exp2_pairs(z_low, z_high);
  }

 private:
  /// Tile registers 0 to 3 hold the sums: 0 and 1 the first row of tiles, 2 and 3 the second.
  template <int kRows, int kColumns>
  [[gnu::always_inline]] static inline void start_sums(bool add, const float* c,
                                                       std::int64_t c_row) {
    const float* const below = c + kTileSide * c_row;
    const std::int64_t c_bytes = c_row * std::int64_t{sizeof(float)};
    if (add) {
      _tile_loadd(0, c, c_bytes);
      if constexpr (kColumns == 2) _tile_loadd(1, c + kTileSide, c_bytes);
      if constexpr (kRows == 2) _tile_loadd(2, below, c_bytes);
      if constexpr (kRows == 2 && kColumns == 2) _tile_loadd(3, below + kTileSide, c_bytes);
    } else {
      _tile_zero(0);
      if constexpr (kColumns == 2) _tile_zero(1);
      if constexpr (kRows == 2) _tile_zero(2);
      if constexpr (kRows == 2 && kColumns == 2) _tile_zero(3);
    }
  }

  template <int kRows, int kColumns>
  [[gnu::always_inline]] static inline void store_sums(float* c, std::int64_t c_row) {
    float* const below = c + kTileSide * c_row;
    const std::int64_t c_bytes = c_row * std::int64_t{sizeof(float)};
    _tile_stored(0, c, c_bytes);
    if constexpr (kColumns == 2) _tile_stored(1, c + kTileSide, c_bytes);
    if constexpr (kRows == 2) _tile_stored(2, below, c_bytes);
    if constexpr (kRows == 2 && kColumns == 2) _tile_stored(3, below + kTileSide, c_bytes);
  }
};

}  // namespace regard::REGARD_ISA

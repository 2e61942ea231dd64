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
      // All 64 bytes are named as read: the intrinsic names 8, and the others count as unused.
      asm volatile("ldtilecfg %0" : : "m"(config));
    }
    ~Session() { _tile_release(); }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
  };

  /// Sums over `count` chunks of kRows tiles of a, rows of 32 halves, times kColumns tiles of b,
  /// rows of 16 pairs; 2 x 2, 1 x 2 or 1 x 4. They stay in registers until `store`, or the `start`
  /// of the next product. After product n of tiles comes beside(n), for which the CPU has 16
  /// cycles.
  template <int kRows, int kColumns, class Beside = NothingBeside>
  [[gnu::always_inline]] void multiply(const TileStart& start, const TileOperand& a,
                                       const TileOperand& b, std::int64_t count,
                                       const Beside& beside = {}) {
    multiply_chunk<kRows, kColumns>(&start, a, b, 0, beside);
    for (std::int64_t n = 1; n < count; ++n) {
      multiply_chunk<kRows, kColumns>(nullptr, a, b, n, beside);
    }
  }

  /// The same, added to the sums that the registers hold.
  template <int kRows, int kColumns>
  [[gnu::always_inline]] void add(const TileOperand& a, const TileOperand& b, std::int64_t count) {
    for (std::int64_t n = 0; n < count; ++n) {
      multiply_chunk<kRows, kColumns>(nullptr, a, b, n, NothingBeside{});
    }
  }

  template <int kRows, int kColumns>
  [[gnu::always_inline]] void store(const TileSums& sums) {
    for_each_tile<kRows, kColumns>([&]<int kRow, int kColumn>() {
      store_tile<kRow * kColumns + kColumn>(tile_of(sums, kRow, kColumn), sums.row);
    });
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
  [[gnu::always_inline]] static inline __m512 scale_pairs(__m512 words, __m512 x) {
    return regard::REGARD_ISA::scale_pairs(words, x);
  }
  using RoughPower = regard::REGARD_ISA::RoughPower;

 private:
  // The intrinsics do not tell the compiler that they read and write memory.
  template <int kTile>
  [[gnu::always_inline]] static inline void load_tile(const void* from, std::int64_t row_bytes) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2"
                 :
                 : "r"(from), "r"(row_bytes), "i"(kTile)
                 : "memory");
  }
  template <int kTile>
  [[gnu::always_inline]] static inline void store_tile(float* to, std::int64_t row) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)"
                 :
                 : "r"(to), "r"(row * std::int64_t{sizeof(float)}), "i"(kTile)
                 : "memory");
  }
  template <int kTile>
  [[gnu::always_inline]] static inline void clear_tile() {
    asm volatile("tilezero %%tmm%c0" : : "i"(kTile));
  }
  template <int kSums, int kLeft, int kRight>
  [[gnu::always_inline]] static inline void multiply_tiles() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSums), "i"(kLeft), "i"(kRight));
  }

  /// Calls action<row, column> for the tiles of the sums, row by row.
  template <int kRows, int kColumns, int kTile = 0, class Action>
  [[gnu::always_inline]] static inline void for_each_tile(const Action& action) {
    action.template operator()<kTile / kColumns, kTile % kColumns>();
    if constexpr (kTile + 1 < kRows * kColumns) {
      for_each_tile<kRows, kColumns, kTile + 1>(action);
    }
  }

  [[gnu::always_inline]] static inline float* tile_of(const TileSums& sums, int row, int column) {
    return sums.at + kTileSide * (row * sums.row + column);
  }

  /// Chunk `n`, added to sums in registers 0 to 3; those above hold tiles of a, then of b.
  template <int kRows, int kColumns, class Beside>
  [[gnu::always_inline]] static inline void multiply_chunk(const TileStart* start,
                                                           const TileOperand& a,
                                                           const TileOperand& b, std::int64_t n,
                                                           const Beside& beside) {
    static_assert(kRows * kColumns <= 4);
    const std::uint16_t* left = a.first + n * a.chunk;
    const std::uint16_t* right = b.first + n * b.chunk;
    for_each_tile<kRows, kColumns>([&]<int kRow, int kColumn>() __attribute__((always_inline)) {
      constexpr int tile = kRow * kColumns + kColumn;
      constexpr int left_tile = 4 + kRow;
      constexpr int right_tile = 4 + kRows + kColumn % (4 - kRows);
      if (start) {
        if (start->held.at) store_tile<tile>(tile_of(start->held, kRow, kColumn), start->held.row);
        if (start->from.at) {
          load_tile<tile>(tile_of(start->from, kRow, kColumn),
                          start->from.row * std::int64_t{sizeof(float)});
        } else {
          clear_tile<tile>();
        }
      }
      if constexpr (kColumn == 0) load_tile<left_tile>(left + kRow * a.tile, 2 * a.row);
      if constexpr (kRow == 0) load_tile<right_tile>(right + kColumn * b.tile, 2 * b.row);
      multiply_tiles<tile, left_tile, right_tile>();
      beside(int(n) * kRows * kColumns + tile);
    });
  }
};

}  // namespace regard::REGARD_ISA

// The direct loop by a tile unit, which multiplies tiles of 16 rows of 32 bf16 by 16 pairs of rows
// of 16, sums in f32. A tile of scores is 32 keys x 32 or 64 rows in memory; K is read in place
// where whole tiles can be, V is transposed block by block. Pairs and P are as for the dot
// instruction.
#pragma once

#include <cstdint>

#include "contract/direct.h"
#include "kernels/pairs.h"
#include "kernels/tile.h"
#include "kernels/tile_panels.h"
#include "kernels/tile_weights.h"
#include "kernels/visibility.h"
#include "prim/prim.h"

namespace regard::REGARD_ISA {

template <class Tiles>
struct TileUnit {
  using Number = float;
  using Operand = std::uint16_t;
  using Keys = TiledKeys;
  using Values = TransposedValues;
  using Session = typename Tiles::Session;
  using TileRegisters = Tiles;
  using RoughPower = typename Tiles::RoughPower;
  static constexpr const char* kName = Tiles::kName;
  static constexpr bool kEmulated = Tiles::kEmulated;
  static constexpr std::int64_t kFewRows = 4;  ///< not measured on hardware
  static constexpr int kTileKeys = 2 * kTileSide;
  static constexpr int kTileColumns = kTileSide;
  static constexpr int kDepth = kTileTerms;
  static constexpr int kKeysStored = 2;
  static constexpr int kWidth = 4 * kTileSide;
  static constexpr int kTileVectors = kWidth / Simd<float>::kLanes;
  static constexpr int kVectorStep = Piece::kSide / Simd<float>::kLanes;
  static constexpr std::int64_t kBlockKeys = kTileBlockKeys;
  static constexpr std::int64_t kPanelKeys = kBlockKeys + kTileKeys;
  static constexpr std::int64_t kItemBytes = 1024 * 1024;  ///< a CPU with tiles has 2 MiB of L2
  static constexpr bool kStartsOut = true;
  static constexpr bool kCopiesPartial = true;
  static constexpr bool kScalesScores = true;
  static constexpr bool kPairs = true;
  static constexpr bool kSkipsVectors = false;
  static constexpr bool kSumsPairs = true;
  static_assert(kTileKeys % kDepth == 0);  // runs of tiles are whole chunks of V

  static float left_factor(float factor) { return split_factor(factor).rest; }

  static void pack_queries(const contract::DirectTask& task, const RowGroup<float, kWidth>& group,
                           float factor) {
    pack_query_pairs(task, group, split_factor(factor).power, ceil_to(task.dims, kDepth),
                     [](auto words, auto power) { return Tiles::scale_pairs(words, power); });
  }

  /// 32 keys of the block from `key` on.
  template <class Visit>
  [[gnu::always_inline]] static inline TileOperand keys(const Visit& visit, std::int64_t key,
                                                        bool copied) {
    const TiledKeys::Rows& k = visit.k;
    const std::int64_t row = copied ? k.panel_row : k.row;
    return {(copied ? k.panel : k.first) + key * row, row, kTileSide * row, kDepth};
  }

  /// The group's queries from row `row` on.
  template <class Visit>
  [[gnu::always_inline]] static inline TileOperand queries(const Visit& visit, int row) {
    return pairs_of(visit.group.queries, row);
  }

  template <bool kPartial, class Visit, int kVectors>
  [[gnu::always_inline]] static inline void multiply_keys(const Visit& visit, std::int64_t t, int,
                                                          Tile<float, kTileKeys, kVectors>& tile) {
    constexpr int width = kVectors * Simd<float>::kLanes;
    auto* scores = reinterpret_cast<float*>(&tile.a[0][0]);
    const std::int64_t chunks = ceil_to(visit.task.dims, kDepth) / kDepth;
    Tiles tiles;
    for (int row = 0; row < width; row += Piece::kSide) {
      tiles.template multiply<2, 2>({}, keys(visit, t, kPartial), queries(visit, row), chunks);
      tiles.template store<2, 2>({scores + row, width});
    }
  }

  [[gnu::always_inline]] static inline auto bf16_pairs(Simd<float>::Vector low,
                                                       Simd<float>::Vector high) {
    return Tiles::bf16_pairs(low, high);
  }
  [[gnu::always_inline]] static inline void store_weights(const Simd<float>::Vector (&weights)[2],
                                                          float* p, std::int64_t key, int lane) {
    store(p + key / 2 * kWidth + lane, bf16_pairs(weights[0], weights[1]));
  }

  template <int kVectors, class Visit>
  static void weigh_plain(const Visit& visit) {
    TileWeights<TileUnit>(visit).weigh(kVectors * Simd<float>::kLanes);
  }

  /// Sums of P over the keys, as products with ones.
  template <class Visit, int kVectors>
  static void sum_weights(const Visit& visit, RowVectors<TileUnit, kVectors>& sums) {
    constexpr int columns = kVectors * Simd<float>::kLanes / kTileSide;
    alignas(64) static constexpr Ones ones;
    const TileOperand left{ones.halves, 0, 0, 0};
    alignas(64) float rows[kTileSide][kWidth];
    Tiles tiles;
    for_each_run(visit, [&](bool first, std::int64_t key, std::int64_t chunks) {
      const TileOperand right = pairs_of(visit.p + key / 2 * kWidth, 0);
      if (first) {
        tiles.template multiply<1, columns>({}, left, right, chunks);
      } else {
        tiles.template add<1, columns>(left, right, chunks);
      }
    });
    tiles.template store<1, columns>({rows[0], kWidth});
    for (int j = 0; j < kVectors; ++j) sums.v[j] = load(rows[0] + j * Simd<float>::kLanes);
  }

  /// O' += V' P', chunk after chunk of keys. Hidden pairs have a weight of 0 and finite values:
  /// what is not finite is 0 in the panel and is added behind.
  template <class Visit, int kVectors>
  static void add_values(const Visit& visit) {
    constexpr int rows = kVectors * Simd<float>::kLanes;
    const std::int64_t columns = ceil_to(visit.task.value_dims, kTileColumns);
    Tiles tiles;
    TileSums held;
    std::int64_t d = 0;
    for (; d + 2 * kTileColumns <= columns; d += 2 * kTileColumns) {
      for (int row = 0; row < rows; row += Piece::kSide) {
        held = add_columns<2>(visit, tiles, d, row, columns, held);
      }
    }
    if (held.at) tiles.template store<2, 2>(held);
    if (d < columns) {
      for (int row = 0; row < rows; row += Piece::kSide) {
        tiles.template store<1, 2>(add_columns<1>(visit, tiles, d, row, columns, {}));
      }
    }
    visit.group.started = true;
    if (visit.v.odd) add_not_finite<kWidth>(visit);
  }

 private:
  struct Ones {
    std::uint16_t halves[kTileTerms];
    constexpr Ones() : halves() {
      for (auto& half : halves) half = 0x3f80;
    }
  };

  /// Words of a panel (pairs, kWidth), from row `row` of the group on.
  static TileOperand pairs_of(const float* panel, int row) {
    return {reinterpret_cast<const std::uint16_t*>(panel + row), 2 * kWidth, 2 * kTileSide,
            2 * kWidth * kTileSide};
  }

  /// Calls action(is it the first, its first key, its chunks of keys) for the runs of the block.
  template <class Visit, class Action>
  [[gnu::always_inline]] static inline void for_each_run(const Visit& visit, const Action& action) {
    for (int n = 0; n < visit.view.run_count; ++n) {
      const Run& run = visit.view.runs[n];
      action(n == 0, run.begin, (run.end - run.begin) / kDepth);
    }
  }

  /// kTiles tiles of columns from d on for 32 rows; gives where the sums, still in registers, go.
  template <int kTiles, class Visit>
  [[gnu::always_inline]] static inline TileSums add_columns(const Visit& visit, Tiles& tiles,
                                                            std::int64_t d, int row,
                                                            std::int64_t columns,
                                                            const TileSums& held) {
    const TileSums out{visit.group.out + d * kWidth + row, kWidth};
    for_each_run(visit, [&](bool first, std::int64_t key, std::int64_t chunks) {
      const TileOperand left{visit.v.first + key * columns + d * kDepth, kDepth, kDepth * kTileSide,
                             kDepth * columns};
      const TileOperand right = pairs_of(visit.p + key / 2 * kWidth, row);
      if (first) {
        const TileStart start{held, visit.group.started ? out : TileSums{}};
        tiles.template multiply<kTiles, 2>(start, left, right, chunks);
      } else {
        tiles.template add<kTiles, 2>(left, right, chunks);
      }
    });
    return out;
  }
};

}  // namespace regard::REGARD_ISA

// The direct loop by a tile unit, which multiplies tiles of 16 rows of 32 bf16 by 16 pairs of rows
// of 16, sums in f32. A tile of scores is 32 keys x 16 to 64 rows in memory; K is read in place
// where whole tiles can be, V is transposed block by block. Pairs and P are as for the dot
// instruction.
#pragma once

#include <cstdint>

#include "contract/direct.h"
#include "kernels/pairs.h"
#include "kernels/tile.h"
#include "kernels/tile_panels.h"
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
  static constexpr const char* kName = Tiles::kName;
  static constexpr bool kEmulated = Tiles::kEmulated;
  static constexpr std::int64_t kFewRows = 4;  ///< not measured on hardware
  static constexpr int kTileKeys = 2 * kTileSide;
  static constexpr int kTileColumns = kTileSide;
  static constexpr int kDepth = kTileTerms;
  static constexpr int kKeysStored = 2;
  static constexpr int kWidth = 4 * kTileSide;
  static constexpr int kTileVectors = kWidth / Simd<float>::kLanes;
  static constexpr int kVectorStep = kTileSide / Simd<float>::kLanes;
  static constexpr std::int64_t kPanelKeys = kBlockKeys + kTileKeys;
  static constexpr bool kCopiesPartial = true;
  static constexpr bool kScalesScores = true;
  static constexpr bool kPairs = true;
  static constexpr bool kSkipsVectors = false;
  static constexpr bool kBesideVectors = true;
  static_assert(kTileKeys % kDepth == 0);  // runs of tiles are whole chunks of V

  static float left_factor(float factor) { return split_factor(factor).rest; }

  static void pack_queries(const contract::DirectTask& task, const RowGroup<float, kWidth>& group,
                           float factor) {
    pack_query_pairs(task, group, split_factor(factor).power, ceil_to(task.dims, kDepth));
  }

  template <bool kPartial, class Visit, int kVectors>
  [[gnu::always_inline]] static inline void multiply_keys(const Visit& visit, std::int64_t t, int,
                                                          Tile<float, kTileKeys, kVectors>& tile) {
    const TiledKeys::Rows& k = visit.k;
    const std::uint16_t* keys = kPartial ? k.panel + t * k.panel_row : k.first + t * k.row;
    const std::int64_t row = kPartial ? k.panel_row : k.row;
    const TileOperand left{keys, row, kTileSide * row, kDepth};
    const auto* queries = reinterpret_cast<const std::uint16_t*>(visit.group.queries);
    const std::int64_t chunks = ceil_to(visit.task.dims, kDepth) / kDepth;
    multiply_columns(left, pairs_of(queries), chunks, false, tile);
  }

  [[gnu::always_inline]] static inline void store_weights(const Simd<float>::Vector (&weights)[2],
                                                          float* p, std::int64_t key, int lane) {
    store(p + key / 2 * kWidth + lane, Tiles::bf16_pairs(weights[0], weights[1]));
  }

  [[gnu::always_inline]] static inline auto weigh_roughly(Simd<float>::Vector z_low,
                                                          Simd<float>::Vector z_high) {
    return Tiles::rough_exp2_pairs(z_low, z_high);
  }
  [[gnu::always_inline]] static inline auto add_weights(Simd<float>::Vector pairs,
                                                        Simd<float>::Vector sum) {
    return Tiles::add_pairs(pairs, sum);
  }

  /// O' += V' P' for the block, summed apart and added once. Hidden pairs have a weight of 0 and
  /// finite values: what is not finite is 0 in the panel and is added behind.
  template <class Visit, int kVectors>
  static void add_values(const Visit& visit) {
    const std::int64_t columns = ceil_to(visit.task.value_dims, kTileColumns);
    std::int64_t d = 0;
    for (; d + 2 * kTileColumns <= columns; d += 2 * kTileColumns) {
      add_columns<2, kVectors>(visit, d, columns);
    }
    if (d < columns) add_columns<1, kVectors>(visit, d, columns);
    if (visit.v.odd) add_not_finite<kWidth>(visit);
  }

 private:
  /// Pairs of rows of a panel (pairs, kWidth).
  static TileOperand pairs_of(const std::uint16_t* panel) {
    return {panel, 2 * kWidth, 2 * kTileSide, 2 * kWidth * kTileSide};
  }

  /// Tiles of `left` times all columns of 16 rows that the tile has.
  template <int kRows, int kVectors>
  [[gnu::always_inline]] static inline void multiply_columns(const TileOperand& left,
                                                             TileOperand right, std::int64_t chunks,
                                                             bool add,
                                                             Tile<float, kRows, kVectors>& tile) {
    constexpr int lanes = Simd<float>::kLanes;
    constexpr int width = kVectors * lanes;
    constexpr int columns = width / kTileSide;
    auto* c = reinterpret_cast<float*>(&tile.a[0][0]);
#pragma GCC unroll 2
    for (int j = 0; j + 2 <= columns; j += 2) {
      Tiles::template multiply<kRows / kTileSide, 2>(left, right, chunks, add, c + j * kTileSide,
                                                     width);
      right.first += 2 * right.tile;
    }
    if constexpr (columns % 2 != 0) {
      Tiles::template multiply<kRows / kTileSide, 1>(left, right, chunks, add,
                                                     c + (columns - 1) * kTileSide, width);
    }
  }

  template <int kTiles, int kVectors, class Visit>
  static void add_columns(const Visit& visit, std::int64_t d, std::int64_t columns) {
    Tile<float, kTiles * kTileSide, kVectors> tile;
    for (int n = 0; n < visit.view.run_count; ++n) {
      const Run& run = visit.view.runs[n];
      const std::int64_t chunk = kDepth * columns;
      const TileOperand left{visit.v.first + run.begin * columns + d * kDepth, kDepth,
                             kDepth * kTileSide, chunk};
      const auto* weights = reinterpret_cast<const std::uint16_t*>(visit.p) + run.begin * kWidth;
      multiply_columns(left, pairs_of(weights), (run.end - run.begin) / kDepth, n > 0, tile);
    }
    tile.add_to(visit.group.out + d * kWidth, kWidth);
  }
};

}  // namespace regard::REGARD_ISA

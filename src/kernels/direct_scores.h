// Scores and weights of the direct loop: a tile of keys x rows in registers, S' = K Q', turned into
// weights relative to each row's reference m. K is read in place by broadcast; what a lane computes
// does not depend on the other lanes.
#pragma once

#include <cstdint>

#include "contract/direct.h"
#include "kernels/row_state.h"
#include "kernels/tile.h"
#include "kernels/visibility.h"
#include "prim/prim.h"

namespace regard::REGARD_ISA {

inline constexpr std::int64_t kBlockKeys = 192;  // P of 192 x 48 f32 is 36 KB: it stays in L2

template <class T>
struct DirectShape {
  static constexpr int kLanes = Simd<T>::kLanes;
  static constexpr int kWidth = kLanes * Simd<T>::kTileVectors;
  static constexpr int kKeys = Simd<T>::kTileKeys;
  using Vector = typename Simd<T>::Vector;
  using Group = RowGroup<T, kWidth>;
  static_assert(kBlockKeys % kKeys == 0);
  static_assert(kKeys + kBlockKeys / kKeys <= 64);  // roundings of l in a block: check/bound.cpp
};

/// One visit of one row group to one block of keys.
template <class T>
struct Visit {
  const contract::DirectTask& task;
  typename DirectShape<T>::Group& group;
  Keys block;
  BlockTiles tiles;
  T* p;  ///< (keys of the block, kWidth)
};

template <class T, int kVectors>
struct RowVectors {
  typename DirectShape<T>::Vector v[kVectors];
};

/// Scores of keys [t, t + kKeys), in base-2 exponents. Keys that may not be touched are replaced
/// by a readable one; their scores are masked by the caller.
template <class T, int kVectors>
[[gnu::always_inline]] inline auto score_tile(const Visit<T>& visit, std::int64_t t) {
  using S = DirectShape<T>;
  const contract::DirectTask& task = visit.task;
  const T* key[S::kKeys];
  for (int i = 0; i < S::kKeys; ++i) {
    const auto readable =
        smaller(larger(t + i, visit.tiles.readable.begin), visit.tiles.readable.end - 1);
    key[i] = static_cast<const T*>(task.k) + readable * task.k_row;
  }
  Tile<T, S::kKeys, kVectors> tile{};
  add_products(tile, key, task.k_dim, visit.group.queries, S::kWidth, task.dims);
  return tile;
}

/// Lanes of vector j whose row sees the key at `offset` from the start of the block.
template <class T>
[[gnu::always_inline]] inline auto lanes_seeing(const Visit<T>& visit, std::int64_t offset, int j) {
  constexpr int lanes = DirectShape<T>::kLanes;
  return within(load(visit.group.block_lo + lanes * j), broadcast(T(offset)),
                load(visit.group.block_hi + lanes * j));
}

/// Turns a tile of scores into weights relative to m, stores them and adds them to the sums.
template <bool kPartial, class T, int kVectors>
[[gnu::always_inline]] inline void weigh_tile(const Visit<T>& visit, std::int64_t t,
                                              RowVectors<T, kVectors>& sums) {
  using S = DirectShape<T>;
  const auto tile = score_tile<T, kVectors>(visit, t);
  const std::int64_t offset = t - visit.block.begin;
#pragma GCC unroll 4
  for (int j = 0; j < kVectors; ++j) {
    const auto m = load(visit.group.m + S::kLanes * j);
    auto sum = broadcast(T(0));
#pragma GCC unroll 8
    for (int i = 0; i < S::kKeys; ++i) {
      auto p = exp2<T>(tile.a[i][j] - m);
      if constexpr (kPartial) {
        p = select(lanes_seeing(visit, offset + i, j), p, broadcast(T(0)));
      }
      sum = sum + p;
      store(visit.p + (offset + i) * S::kWidth + S::kLanes * j, p);
    }
    sums.v[j] = sums.v[j] + sum;
  }
}

/// P of the whole block and its sums. Sums are taken by tile, then by block, then over blocks:
/// chains of at most 64 roundings and one for each block.
template <class T, int kVectors>
void weigh_block(const Visit<T>& visit, RowVectors<T, kVectors>& sums) {
  constexpr int keys = DirectShape<T>::kKeys;
  const BlockTiles& tiles = visit.tiles;
  std::int64_t t = tiles.begin;
  for (; t < tiles.full.begin; t += keys) weigh_tile<true>(visit, t, sums);
  for (; t < tiles.full.end; t += keys) weigh_tile<false>(visit, t, sums);
  for (; t < tiles.end; t += keys) weigh_tile<true>(visit, t, sums);
}

/// The largest score among the keys of [begin, end) that each row sees, -infinity if none.
template <class T, int kVectors>
RowVectors<T, kVectors> largest_scores(const Visit<T>& visit, std::int64_t begin,
                                       std::int64_t end) {
  using S = DirectShape<T>;
  RowVectors<T, kVectors> largest;
  for (auto& v : largest.v) v = broadcast(-T(__builtin_inf()));
  for (std::int64_t t = begin; t < end; t += S::kKeys) {
    const auto tile = score_tile<T, kVectors>(visit, t);
    for (int i = 0; i < S::kKeys; ++i) {
      for (int j = 0; j < kVectors; ++j) {
        largest.v[j] = select(lanes_seeing(visit, t - visit.block.begin + i, j),
                              maximum(tile.a[i][j], largest.v[j]), largest.v[j]);
      }
    }
  }
  return largest;
}

}  // namespace regard::REGARD_ISA

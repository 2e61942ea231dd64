// Scores and weights of the direct loop: a tile of keys x rows in registers, S' = K Q', turned into
// weights relative to each row's reference m. K is read by broadcast; what a lane computes does not
// depend on the other lanes. Two forms: plain (scale and intervals), and general, with the hook and
// pairs hidden one by one.
#pragma once

#include <cstdint>

#include "contract/direct.h"
#include "kernels/panels.h"
#include "kernels/row_state.h"
#include "kernels/score_hook.h"
#include "kernels/tile.h"
#include "kernels/visibility.h"
#include "prim/prim.h"

namespace regard::REGARD_ISA {

template <class T>
struct DirectShape {
  static constexpr int kLanes = Simd<T>::kLanes;
  static constexpr int kWidth = kLanes * Simd<T>::kTileVectors;
  static constexpr int kKeys = Simd<T>::kTileKeys;
  using Vector = typename Simd<T>::Vector;
  using Group = RowGroup<T, kWidth>;
  static_assert(kWidth <= 64);  // bits of BlockView::seen
  static_assert(kBlockKeys % kKeys == 0 && kBlockKeys / kKeys <= BlockView::kMostRuns);
  static_assert(kKeys + kBlockKeys / kKeys <= 64);  // roundings of l in a block: check/bound.cpp
};

/// One visit of one row group to one block of keys.
template <class T>
struct Visit {
  const contract::DirectTask& task;
  typename DirectShape<T>::Group& group;
  const BlockView& view;
  KeyRows<T> k, v;
  T unit;         ///< Units::exponent
  T* p;           ///< (keys of the block, kWidth)
  const T* bias;  ///< the same shape
};

template <class T, int kVectors>
struct RowVectors {
  typename DirectShape<T>::Vector v[kVectors];
};

/// Lanes of vector j whose row sees key `key` of the block.
template <class T>
[[gnu::always_inline]] inline auto lanes_seeing(const Visit<T>& visit, std::int64_t key, int j) {
  return lanes_of<T>(visit.view.seen[key] >> (DirectShape<T>::kLanes * j));
}

/// Scores of kKeys keys of the block from `t` on, at `stage`. In a partial tile, keys that no row
/// sees are replaced by one that is seen; the caller masks them.
template <bool kGeneral, bool kPartial, class T, int kVectors>
[[gnu::always_inline]] inline auto score_tile(const Visit<T>& visit, std::int64_t t,
                                              contract::Stage stage = contract::Stage::biased) {
  using S = DirectShape<T>;
  const T* key[S::kKeys];
  std::int64_t spare = t;
  if constexpr (kPartial) {
    while (visit.view.seen[spare] == 0) ++spare;
  }
  for (int i = 0; i < S::kKeys; ++i) {
    const bool readable = !kPartial || visit.view.seen[t + i] != 0;
    key[i] = visit.k.first + (readable ? t + i : spare) * visit.k.row;
  }
  Tile<T, S::kKeys, kVectors> tile{};
  add_products(tile, key, visit.k.column, visit.group.queries, S::kWidth, visit.task.dims);
  if constexpr (kGeneral) {
    apply_hook(visit.task.score, visit.group, visit.bias, stage, t, tile);
  }
  return tile;
}

/// Turns a tile of scores into weights relative to m, stores them and adds them to the sums.
template <bool kGeneral, bool kPartial, class T, int kVectors>
[[gnu::always_inline]] inline void weigh_tile(const Visit<T>& visit, std::int64_t t,
                                              RowVectors<T, kVectors>& sums) {
  using S = DirectShape<T>;
  const auto tile = score_tile<kGeneral, kPartial, T, kVectors>(visit, t);
#pragma GCC unroll 4
  for (int j = 0; j < kVectors; ++j) {
    const auto m = load(visit.group.m + S::kLanes * j);
    auto sum = broadcast(T(0));
#pragma GCC unroll 8
    for (int i = 0; i < S::kKeys; ++i) {
      auto p = exp2<T>(exponent_of<kGeneral>(tile.a[i][j], m, visit.unit));
      if constexpr (kPartial) p = select(lanes_seeing(visit, t + i, j), p, broadcast(T(0)));
      sum = sum + p;
      store(visit.p + (t + i) * S::kWidth + S::kLanes * j, p);
    }
    sums.v[j] = sums.v[j] + sum;
  }
}

/// Calls action<kPartial>(t) for every tile that some row sees, in ascending order.
template <class T, class Action>
[[gnu::always_inline]] inline void for_each_tile(const Visit<T>& visit, const Action& action) {
  constexpr int keys = DirectShape<T>::kKeys;
  for (int n = 0; n < visit.view.run_count; ++n) {
    const Run& run = visit.view.runs[n];
    if (run.full) {
      for (auto t = run.begin; t < run.end; t += keys) action.template operator()<false>(t);
    } else {
      for (auto t = run.begin; t < run.end; t += keys) action.template operator()<true>(t);
    }
  }
}

/// P of the whole block and its sums. Sums are taken by tile, then by block, then over blocks:
/// chains of at most 64 roundings and one for each block.
template <bool kGeneral, class T, int kVectors>
void weigh_block(const Visit<T>& visit, RowVectors<T, kVectors>& sums) {
  for_each_tile(visit, [&]<bool kPartial>(std::int64_t t) {
    weigh_tile<kGeneral, kPartial>(visit, t, sums);
  });
}

/// Raises `largest` to the largest score in the tile among the keys that each row sees.
template <bool kGeneral, class T, int kVectors>
void raise_to_largest(const Visit<T>& visit, std::int64_t t, RowVectors<T, kVectors>& largest) {
  using S = DirectShape<T>;
  const auto tile = score_tile<kGeneral, true, T, kVectors>(visit, t);
  for (int i = 0; i < S::kKeys; ++i) {
    for (int j = 0; j < kVectors; ++j) {
      largest.v[j] =
          select(lanes_seeing(visit, t + i, j), maximum(tile.a[i][j], largest.v[j]), largest.v[j]);
    }
  }
}

template <class T, int kVectors>
RowVectors<T, kVectors> no_scores() {
  RowVectors<T, kVectors> scores;
  for (auto& v : scores.v) v = broadcast(-T(__builtin_inf()));
  return scores;
}

}  // namespace regard::REGARD_ISA

// The direct loop by multiply-adds of numbers of T. K and V are read by broadcast, in place at any
// stride, or converted from a half type block by block. The comments on its constants hold for
// every unit.
#pragma once

#include <cstdint>

#include "contract/direct.h"
#include "kernels/panels.h"
#include "kernels/tile.h"
#include "kernels/visibility.h"
#include "prim/prim.h"

namespace regard::REGARD_ISA {

template <class T>
struct FmaUnit {
  using Number = T;
  using Operand = T;
  using Keys = KeyReader<T>;
  using Values = KeyReader<T>;
  struct Session {};
  static constexpr const char* kName = "fma";
  static constexpr bool kEmulated = false;
  /// Up to there decode took 0.3 to 0.8 of the time on Zen 4, for 128 to 8,192 keys; in f64 0.4 to
  /// 0.9.
  static constexpr std::int64_t kFewRows = sizeof(T) == 8 ? 4 : 8;
  static constexpr int kTileKeys = Simd<T>::kTileKeys;
  static constexpr int kTileVectors = Simd<T>::kTileVectors;  ///< of rows
  static constexpr int kVectorStep = 1;                       ///< a tile may be narrower by so many
  static constexpr int kTileColumns = kTileKeys;              ///< of V
  static constexpr int kDepth = 1;       ///< columns of Q and K that it takes together
  static constexpr int kKeysStored = 1;  ///< whose weights store_weights takes together
  static constexpr int kWidth = kTileVectors * Simd<T>::kLanes;
  static constexpr std::int64_t kBlockKeys = regard::REGARD_ISA::kBlockKeys;
  static constexpr std::int64_t kPanelKeys = kBlockKeys;  ///< that panels of K and V hold
  static constexpr std::int64_t kItemBytes = 512 * 1024;  ///< of L2, for row groups
  static constexpr bool kStartsOut = false;      ///< the first block of a row group sets its O
  static constexpr bool kCopiesPartial = false;  ///< of K, where full tiles are read in place
  static constexpr bool kScalesScores = false;   ///< some of the factor is left to the scores
  static constexpr bool kPairs = false;          ///< P is bf16, by pairs of keys, and may be rough
  static constexpr bool kSkipsVectors = true;    ///< of rows that see nothing of a partial tile

  /// The factor of dot products is in the queries.
  static T left_factor(T) { return 1; }

  static void pack_queries(const contract::DirectTask& task, const RowGroup<T, kWidth>& group,
                           T factor) {
    regard::REGARD_ISA::pack_queries(task, group, factor);
  }

  /// For vectors of rows from `first` on. In a partial tile, keys that no row sees are replaced by
  /// one that is seen.
  template <bool kPartial, class Visit, int kVectors>
  [[gnu::always_inline]] static inline void multiply_keys(const Visit& visit, std::int64_t t,
                                                          int first,
                                                          Tile<T, kTileKeys, kVectors>& tile) {
    const T* key[kTileKeys];
    const T* next = visit.k.first + t * visit.k.row;
    // Not by products: GCC makes vector instructions of them, 60 cycles before the first load.
    for (int i = 0; i < kTileKeys; ++i, next += visit.k.row) key[i] = next;
    if constexpr (kPartial) {
      int spare = 0;
      while (visit.view.seen[t + spare] == 0) ++spare;
      for (int i = 0; i < kTileKeys; ++i) {
        if (visit.view.seen[t + i] == 0) key[i] = key[spare];
      }
    }
    tile = {};
    add_products(tile, key, visit.k.column, visit.group.queries + Simd<T>::kLanes * first, kWidth,
                 visit.task.dims);
  }

  [[gnu::always_inline]] static inline void store_weights(
      const typename Simd<T>::Vector (&weights)[1], T* p, std::int64_t key, int lane) {
    store(p + key * kWidth + lane, weights[0]);
  }

  /// O' += V' P' for the block. It is summed apart and added once: chains of at most kBlockKeys
  /// roundings. It starts from -0, which added to any number leaves its bits: lanes that see no key
  /// of the block keep theirs.
  template <class Visit, int kVectors>
  static void add_values(const Visit& visit) {
    for (std::int64_t d = 0; d < visit.task.value_dims; d += kTileKeys) {
      Tile<T, kTileKeys, kVectors> tile;
      tile.fill(-T(0));
      multiply_values(visit, d, tile);
      tile.add_to(visit.group.out + d * kWidth, kWidth);
    }
  }

 private:
  /// Columns past Dv repeat the last one into padding.
  template <class Visit, int kVectors>
  [[gnu::always_inline]] static inline void multiply_values(const Visit& visit, std::int64_t d0,
                                                            Tile<T, kTileKeys, kVectors>& tile) {
    const T* column[kTileKeys];
    for (int i = 0; i < kTileKeys; ++i) {
      column[i] = visit.v.first + smaller(d0 + i, visit.task.value_dims - 1) * visit.v.column;
    }
    for (int n = 0; n < visit.view.run_count; ++n) {
      const Run& run = visit.view.runs[n];
      if (!run.full) {
        add_partial(visit, run, column, tile);
        continue;
      }
      const T* from[kTileKeys];
      for (int i = 0; i < kTileKeys; ++i) from[i] = column[i] + run.begin * visit.v.row;
      add_products(tile, from, visit.v.row, visit.p + run.begin * kWidth, kWidth,
                   run.end - run.begin);
    }
  }

  /// Adds p v for keys that some row does not see: hidden pairs are skipped, not multiplied by 0,
  /// because 0 times infinity is not 0. Keys that no row sees are not read, and the vectors of rows
  /// before the first that sees a key are left alone.
  template <class Visit, int kVectors>
  [[gnu::always_inline]] static inline void add_partial(const Visit& visit, const Run& run,
                                                        const T* const (&column)[kTileKeys],
                                                        Tile<T, kTileKeys, kVectors>& tile) {
    for (std::int64_t key = run.begin; key < run.end; ++key) {
      if (visit.view.seen[key] == 0) continue;
      const int first = __builtin_ctzll(visit.view.seen[key]) / Simd<T>::kLanes;
      if (kVectors > 1 && first == kVectors - 1) {
        add_key<kVectors - 1>(visit, key, column, tile);
      } else if (kVectors > 2 && first == 1) {
        add_key<1>(visit, key, column, tile);
      } else {
        add_key<0>(visit, key, column, tile);
      }
    }
  }

  /// One key, for the vectors of rows from kFirst on.
  template <int kFirst, class Visit, int kVectors>
  [[gnu::always_inline]] static inline void add_key(const Visit& visit, std::int64_t key,
                                                    const T* const (&column)[kTileKeys],
                                                    Tile<T, kTileKeys, kVectors>& tile) {
    constexpr int lanes = Simd<T>::kLanes;
    typename Simd<T>::Vector p[kVectors];
    typename Simd<T>::Mask seen[kVectors];
#pragma GCC unroll 4
    for (int j = kFirst; j < kVectors; ++j) {
      p[j] = load(visit.p + key * kWidth + lanes * j);
      seen[j] = lanes_of<T>(visit.view.seen[key] >> (lanes * j));
    }
#pragma GCC unroll 8
    for (int i = 0; i < kTileKeys; ++i) {
      const auto v = broadcast(column[i][key * visit.v.row]);
#pragma GCC unroll 4
      for (int j = kFirst; j < kVectors; ++j) {
        tile.a[i][j] = fma_where(seen[j], v, p[j], tile.a[i][j]);
      }
    }
  }
};

}  // namespace regard::REGARD_ISA

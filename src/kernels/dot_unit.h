// The direct loop by the bf16 dot instruction: two products a lane and instruction, sums in f32.
// Panels hold pairs, the first of two neighbours in the low half: of columns for Q and K, of keys
// for P and V. K is read in place where its columns are neighbours. P is rounded to bf16; l sums
// what it was before.
#pragma once

#include <cstdint>

#include "contract/direct.h"
#include "kernels/pairs.h"
#include "kernels/peak.h"
#include "kernels/tile.h"
#include "kernels/visibility.h"
#include "prim/prim.h"

namespace regard::REGARD_ISA {

struct DotUnit {
  using Number = float;
  using Operand = std::uint16_t;
  struct Session {};
  static constexpr const char* kName = "dot";
  static constexpr bool kEmulated = false;
  static constexpr std::int64_t kFewRows = 8;  ///< as FmaUnit has it: 0.4 to 0.95
  static constexpr int kTileKeys = Simd<float>::kTileKeys;
  static constexpr int kTileVectors = Simd<float>::kTileVectors;
  static constexpr int kVectorStep = 1;
  static constexpr int kTileColumns = kTileKeys;
  static constexpr int kDepth = 2;
  static constexpr int kKeysStored = 2;
  static constexpr int kWidth = kTileVectors * Simd<float>::kLanes;
  static constexpr std::int64_t kBlockKeys = regard::REGARD_ISA::kBlockKeys;
  static constexpr std::int64_t kPanelKeys = kBlockKeys;
  static constexpr std::int64_t kItemBytes = 512 * 1024;
  static constexpr bool kStartsOut = false;
  static constexpr bool kCopiesPartial = false;
  static constexpr bool kScalesScores = true;
  static constexpr bool kPairs = true;
  static constexpr bool kSkipsVectors = true;
  static constexpr bool kSumsPairs = false;  ///< with kPairs: sums P itself, and weighs beside it
  using Keys = PairedColumns;
  using Values = PairedKeys<kTileColumns>;

  static float left_factor(float factor) { return split_factor(factor).rest; }

  static void pack_queries(const contract::DirectTask& task, const RowGroup<float, kWidth>& group,
                           float factor) {
    pack_query_pairs(task, group, split_factor(factor).power, ceil_to(task.dims, kDepth),
                     [](auto words, auto power) { return scale_pairs(words, power); });
  }

  template <bool kPartial, class Visit, int kVectors>
  [[gnu::always_inline]] static inline void multiply_keys(const Visit& visit, std::int64_t t,
                                                          int first,
                                                          Tile<float, kTileKeys, kVectors>& tile) {
    const std::uint16_t* key[kTileKeys];
    std::int64_t spare = t;
    if constexpr (kPartial) {
      while (visit.view.seen[spare] == 0) ++spare;
    }
    for (int i = 0; i < kTileKeys; ++i) {
      const bool readable = !kPartial || visit.view.seen[t + i] != 0;
      key[i] = visit.k.first + (readable ? t + i : spare) * visit.k.row;
    }
    tile = {};
    add_dots(tile, key, 2, visit.group.queries + Simd<float>::kLanes * first,
             (visit.task.dims + 1) / 2);
  }

  [[gnu::always_inline]] static inline auto bf16_pairs(Simd<float>::Vector low,
                                                       Simd<float>::Vector high) {
    return regard::REGARD_ISA::bf16_pairs(low, high);
  }
  [[gnu::always_inline]] static inline void store_weights(const Simd<float>::Vector (&weights)[2],
                                                          float* p, std::int64_t key, int lane) {
    store(p + key / 2 * kWidth + lane, bf16_pairs(weights[0], weights[1]));
  }

  using RoughPower = regard::REGARD_ISA::RoughPower;
  [[gnu::always_inline]] static inline auto add_weights(Simd<float>::Vector pairs,
                                                        Simd<float>::Vector sum) {
    return add_pairs(pairs, sum);
  }

  /// Weights of a vector of rows that see nothing of the tile from key `key` on.
  static void clear_weights(float* p, std::int64_t key, int lane) {
    for (int i = 0; i < kTileKeys; i += 2) {
      store(p + (key + i) / 2 * kWidth + lane, broadcast(0.0f));
    }
  }

  /// O' += V' P' for the block, summed apart and added once. Hidden pairs have a weight of 0 and
  /// finite values: what is not finite is 0 in the panel and is added behind.
  template <class Visit, int kVectors>
  static void add_values(const Visit& visit) {
    for (std::int64_t d = 0; d < visit.task.value_dims; d += kTileKeys) {
      Tile<float, kTileKeys, kVectors> tile;
      tile.fill(-0.0f);
      for (int n = 0; n < visit.view.run_count; ++n) {
        const Run& run = visit.view.runs[n];
        const std::uint16_t* from[kTileKeys];
        for (int i = 0; i < kTileKeys; ++i) {
          from[i] = visit.v.first + run.begin / 2 * visit.v.row + 2 * (d + i);
        }
        add_dots(tile, from, visit.v.row, visit.p + run.begin / 2 * kWidth,
                 (run.end - run.begin) / 2);
      }
      tile.add_to(visit.group.out + d * kWidth, kWidth);
    }
    if (visit.v.odd) add_not_finite<kWidth>(visit);
  }

 private:
  /// Adds left[i][t] . panel[t] to row i for t in [0, count), both pairs.
  template <int kVectors>
  [[gnu::always_inline]] static inline void add_dots(Tile<float, kTileKeys, kVectors>& tile,
                                                     const std::uint16_t* const (&left)[kTileKeys],
                                                     std::int64_t left_step, const float* panel,
                                                     std::int64_t count) {
    std::int64_t at = 0;
#pragma GCC unroll 2
    for (std::int64_t t = 0; t < count; ++t, at += left_step, panel += kWidth) {
      Simd<float>::Vector right[kVectors];
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) right[j] = load(panel + Simd<float>::kLanes * j);
#pragma GCC unroll 8
      for (int i = 0; i < kTileKeys; ++i) {
        const auto x = broadcast_pair(left[i] + at);
#pragma GCC unroll 4
        for (int j = 0; j < kVectors; ++j) tile.a[i][j] = dot(x, right[j], tile.a[i][j]);
      }
    }
  }
};

inline void run_dot_peak(std::int64_t iterations) noexcept {
  const auto x = broadcast(0x1.008p0f);  // 1 and 2 as a pair
  run_chains<float>(iterations, [&](auto chain) { return dot(x, x, chain); });
}

inline constexpr contract::PeakLoop kDotPeakLoop = {
    .run = run_dot_peak,
    .flops_per_iteration = std::int64_t{4} * Simd<float>::kLanes * kPeakChains<float>,
};

}  // namespace regard::REGARD_ISA

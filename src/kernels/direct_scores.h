// Scores and weights of the direct loop: a tile of keys x rows, S' = K Q', turned into weights
// relative to each row's reference m. The unit (kernels/fma_unit.h and its neighbours) multiplies;
// what a lane computes does not depend on the other lanes. Two forms: plain (scale and intervals),
// and general, with the hook and pairs hidden one by one.
#pragma once

#include <cstdint>

#include "contract/direct.h"
#include "kernels/ahead.h"
#include "kernels/row_state.h"
#include "kernels/score_hook.h"
#include "kernels/tile.h"
#include "kernels/visibility.h"
#include "prim/prim.h"
#include "prim/rough_exp2.h"

namespace regard::REGARD_ISA {

template <class U>
struct DirectShape {
  using Number = typename U::Number;
  static constexpr int kLanes = Simd<Number>::kLanes;
  static constexpr int kWidth = kLanes * U::kTileVectors;
  static constexpr int kKeys = U::kTileKeys;
  using Vector = typename Simd<Number>::Vector;
  using Group = RowGroup<Number, kWidth>;
  static_assert(kWidth <= 64);  // bits of BlockView::seen
  static constexpr std::int64_t kBlock = U::kBlockKeys;
  static_assert(kBlock <= kMostBlockKeys && kBlock % kKeys == 0);
  static_assert(kBlock / kKeys <= BlockView::kMostRuns);
  static_assert(kKeys + kBlock / kKeys <= 64);  // roundings of l in a block: check/bound.cpp
};

/// One visit of one row group to one block of keys.
template <class U>
struct Visit {
  using Number = typename U::Number;

  const contract::DirectTask& task;
  typename DirectShape<U>::Group& group;
  const BlockView& view;
  typename U::Keys::Rows k;
  typename U::Values::Rows v;
  Number factor;       ///< of a dot product, where the unit has not put it into the queries
  Number unit;         ///< Units::exponent
  bool rough;          ///< weights may be bf16 from the start
  Number* p;           ///< (keys of the block, kWidth), or what the unit makes of that
  const Number* bias;  ///< (keys of the block, kWidth)
  Ahead& ahead;        ///< asked for tile by tile, where weights are made
};

template <class U, int kVectors>
struct RowVectors {
  typename DirectShape<U>::Vector v[kVectors];
};

/// Lanes of vector j whose row sees key `key` of the block.
template <class U>
[[gnu::always_inline]] inline auto lanes_seeing(const Visit<U>& visit, std::int64_t key, int j) {
  return lanes_of<typename U::Number>(visit.view.seen[key] >> (DirectShape<U>::kLanes * j));
}

/// Dot products of kKeys keys of the block from `t` on, still to be multiplied by visit.factor, of
/// kVectors vectors of rows from vector `first` on. In a partial tile, those of keys that no row
/// sees are any numbers; the caller masks them.
template <bool kPartial, class U, int kVectors>
[[gnu::always_inline]] inline auto product_tile(const Visit<U>& visit, std::int64_t t,
                                                int first = 0) {
  Tile<typename U::Number, U::kTileKeys, kVectors> tile;
  U::template multiply_keys<kPartial>(visit, t, first, tile);
  return tile;
}

/// Makes scores at `stage` of them.
template <bool kGeneral, class U, int kVectors>
[[gnu::always_inline]] inline void finish_scores(
    const Visit<U>& visit, std::int64_t t, contract::Stage stage,
    Tile<typename U::Number, U::kTileKeys, kVectors>& tile) {
  if constexpr (U::kScalesScores) {
    for (auto& row : tile.a) {
      for (auto& s : row) s = s * broadcast(visit.factor);
    }
  }
  if constexpr (kGeneral) {
    apply_hook(visit.task.score, visit.group, visit.bias, stage, t, tile);
  }
}

/// The same as scores at `stage`; in the general form `first` is 0.
template <bool kGeneral, bool kPartial, class U, int kVectors>
[[gnu::always_inline]] inline auto score_tile(const Visit<U>& visit, std::int64_t t,
                                              contract::Stage stage = contract::Stage::biased,
                                              int first = 0) {
  auto tile = product_tile<kPartial, U, kVectors>(visit, t, first);
  finish_scores<kGeneral>(visit, t, stage, tile);
  return tile;
}

/// Turns a tile of scores into weights relative to m, stores them and adds them to the sums, for
/// kVectors vectors of rows from vector `first` on.
template <bool kGeneral, bool kPartial, int kVectors, class U, int kSums>
[[gnu::always_inline]] inline void weigh_tile(const Visit<U>& visit, std::int64_t t,
                                              RowVectors<U, kSums>& sums, int first = 0) {
  using S = DirectShape<U>;
  using T = typename U::Number;
  const auto tile =
      score_tile<kGeneral, kPartial, U, kVectors>(visit, t, contract::Stage::biased, first);
#pragma GCC unroll 4
  for (int j = 0; j < kVectors; ++j) {
    const int lane = S::kLanes * (first + j);
    const auto m = load(visit.group.m + lane);
    auto sum = broadcast(T(0));
#pragma GCC unroll 8
    for (int i = 0; i < S::kKeys; i += U::kKeysStored) {
      typename S::Vector p[U::kKeysStored];
#pragma GCC unroll 2
      for (int n = 0; n < U::kKeysStored; ++n) {
        p[n] = exp2<T>(exponent_of<kGeneral>(tile.a[i + n][j], m, visit.unit));
        if constexpr (kPartial) {
          p[n] = select(lanes_seeing(visit, t + i + n, first + j), p[n], broadcast(T(0)));
        }
        sum = sum + p[n];
      }
      U::store_weights(p, visit.p, t + i, lane);
    }
    sums.v[first + j] = sums.v[first + j] + sum;
  }
}

/// References from here on are far: the exponent is then the difference of two rounded scores.
inline constexpr float kFarReference = 0x1p14f;

/// z of src/prim/rough_exp2.h for a vector of rows. The quick form takes one step from the dot
/// product and rounds the row's part of it once for all keys, which the quotient forgives. It makes
/// NaN of what lies millions below m; the careful form has the same bits elsewhere.
template <bool kGeneral, bool kCareful>
struct RoughExponent {
  using Vector = Simd<float>::Vector;
  static_assert(kCareful || !kGeneral);

  Vector m, factor;
  float unit;
  Vector scale = factor * broadcast(kRoughScale);
  Vector offset = fma(m, broadcast(-kRoughScale), broadcast(kRoughOffset));

  [[gnu::always_inline]] RoughExponent(Vector reference, Vector f, float u)
      : m(reference), factor(f), unit(u) {}

  /// Of a dot product, in the general form of a score.
  [[gnu::always_inline]] Vector operator()(Vector x) const {
    if constexpr (!kCareful) return fma(x, scale, offset);
    const auto s = kGeneral ? x : x * factor;
    auto z =
        fma(exponent_of<kGeneral>(s, m, unit), broadcast(kRoughScale), broadcast(kRoughOffset));
    if constexpr (!kGeneral) {
      const auto far = greater(magnitude(m), broadcast(kFarReference));
      z = select(far, z, fma(x, scale, offset));
    }
    // A score that is not finite spoils its row: infinity times 0 is NaN.
    return fma(s, broadcast(0.0f), minimum(broadcast(kRoughNothing), z));
  }
};

/// As weigh_tile from a tile of dot products, with weights that are bf16 from the start, and their
/// sums, unless the unit sums P itself: src/prim/rough_exp2.h.
template <bool kGeneral, bool kPartial, bool kCareful, class U, int kVectors, int kSums>
[[gnu::always_inline]] inline void weigh_tile_roughly(const Visit<U>& visit, std::int64_t t,
                                                      Tile<float, U::kTileKeys, kVectors>& tile,
                                                      const typename U::RoughPower& power,
                                                      RowVectors<U, kSums>& sums, int first = 0) {
  using S = DirectShape<U>;
  if constexpr (kGeneral) finish_scores<true>(visit, t, contract::Stage::biased, tile);
  const auto nothing = broadcast(kRoughNothing);
#pragma GCC unroll 4
  for (int j = 0; j < kVectors; ++j) {
    const int lane = S::kLanes * (first + j);
    const RoughExponent<kGeneral, kCareful> exponent(load(visit.group.m + lane),
                                                     broadcast(visit.factor), visit.unit);
    auto sum = broadcast(0.0f);
#pragma GCC unroll 8
    for (int i = 0; i < S::kKeys; i += 2) {
      typename S::Vector z[2];
#pragma GCC unroll 2
      for (int n = 0; n < 2; ++n) {
        z[n] = exponent(tile.a[i + n][j]);
        if constexpr (kPartial)
          z[n] = select(lanes_seeing(visit, t + i + n, first + j), z[n], nothing);
      }
      const auto pairs = power(z[0], z[1]);
      if constexpr (!U::kSumsPairs) sum = U::add_weights(pairs, sum);
      store(visit.p + (t + i) / 2 * S::kWidth + lane, pairs);
    }
    sums.v[first + j] = sums.v[first + j] + sum;
  }
}

/// Calls action with the fewest vectors that hold the group's rows.
template <class U, int kVectors = U::kTileVectors, class Action>
[[gnu::always_inline]] inline void with_vectors(int rows, const Action& action) {
  if constexpr (kVectors > U::kVectorStep) {
    if (rows <= (kVectors - U::kVectorStep) * DirectShape<U>::kLanes) {
      with_vectors<U, kVectors - U::kVectorStep>(rows, action);
      return;
    }
  }
  action.template operator()<kVectors>();
}

/// Calls action<kSeen>(first) with the vectors of rows that see some key of the tile: on a diagonal
/// two thirds of them. What P holds of the others is not read, or made 0.
template <int kVectors, class U, class Action>
[[gnu::always_inline]] inline void with_seen_vectors(const Visit<U>& visit, std::int64_t t,
                                                     const Action& action) {
  using S = DirectShape<U>;
  std::uint64_t some = 0;
  for (int i = 0; i < S::kKeys; ++i) some |= visit.view.seen[t + i];
  const int first = __builtin_ctzll(some) / S::kLanes;
  const int rows = 64 - __builtin_clzll(some) - S::kLanes * first;
  with_vectors<U, kVectors>(rows, [&]<int kSeen>() {
    if constexpr (U::kPairs) {
      for (int j = 0; j < kVectors; ++j) {
        if (j < first || j >= first + kSeen) U::clear_weights(visit.p, t, S::kLanes * j);
      }
    }
    action.template operator()<kSeen>(first);
  });
}

/// Calls action<kPartial>(t) for every tile that some row sees, in ascending order.
template <class U, class Action>
[[gnu::always_inline]] inline void for_each_tile(const Visit<U>& visit, const Action& action) {
  constexpr int keys = DirectShape<U>::kKeys;
  for (int n = 0; n < visit.view.run_count; ++n) {
    const Run& run = visit.view.runs[n];
    if (run.full) {
      for (auto t = run.begin; t < run.end; t += keys) action.template operator()<false>(t);
    } else {
      for (auto t = run.begin; t < run.end; t += keys) action.template operator()<true>(t);
    }
  }
}

/// As weigh_block with rough weights.
template <bool kGeneral, bool kCareful, class U, int kVectors>
void weigh_block_roughly(const Visit<U>& visit, RowVectors<U, kVectors>& sums) {
  if constexpr (!kCareful && U::kSumsPairs) {
    U::template weigh_plain<kVectors>(visit);
  } else {
    const typename U::RoughPower power;
    for_each_tile(visit, [&]<bool kPartial>(std::int64_t t) {
      visit.ahead.ask();
      if constexpr (kPartial && !kGeneral && U::kSkipsVectors) {
        with_seen_vectors<kVectors>(visit, t, [&]<int kSeen>(int first) {
          auto tile = product_tile<true, U, kSeen>(visit, t, first);
          weigh_tile_roughly<false, true, kCareful>(visit, t, tile, power, sums, first);
        });
      } else {
        auto tile = product_tile<kPartial, U, kVectors>(visit, t);
        weigh_tile_roughly<kGeneral, kPartial, kCareful>(visit, t, tile, power, sums);
      }
    });
  }
  if constexpr (U::kSumsPairs) U::sum_weights(visit, sums);
}

/// Whether m of some row is far.
template <class U, int kVectors>
bool has_far_reference(const Visit<U>& visit) {
  bool far = false;
  for (int j = 0; j < kVectors; ++j) {
    const auto m = load(visit.group.m + DirectShape<U>::kLanes * j);
    far |= any(greater(magnitude(m), broadcast(kFarReference)));
  }
  return far;
}

/// P of the whole block and its sums. Sums are taken by tile, then by block, then over blocks:
/// chains of at most 64 roundings and one for each block. `careful`: see RoughExponent.
template <bool kGeneral, class U, int kVectors>
void weigh_block(const Visit<U>& visit, bool careful, RowVectors<U, kVectors>& sums) {
  if constexpr (U::kPairs) {
    // A mask alone changes no score: with all pairs seen it leaves the bits of the plain form.
    if (visit.rough && has_hook(visit.task.score)) {
      return weigh_block_roughly<kGeneral, true>(visit, sums);
    }
    if (visit.rough && (careful || has_far_reference<U, kVectors>(visit))) {
      return weigh_block_roughly<false, true>(visit, sums);
    }
    if (visit.rough) return weigh_block_roughly<false, false>(visit, sums);
  }
  for_each_tile(visit, [&]<bool kPartial>(std::int64_t t) {
    visit.ahead.ask();
    if constexpr (kPartial && !kGeneral && U::kSkipsVectors) {
      with_seen_vectors<kVectors>(visit, t, [&]<int kSeen>(int first) {
        weigh_tile<false, true, kSeen>(visit, t, sums, first);
      });
    } else {
      weigh_tile<kGeneral, kPartial, kVectors>(visit, t, sums);
    }
  });
}

/// Raises `largest` to the largest score in the tile among the keys that each row sees.
template <bool kGeneral, bool kPartial, class U, int kVectors>
void raise_to_largest(const Visit<U>& visit, std::int64_t t, RowVectors<U, kVectors>& largest) {
  using S = DirectShape<U>;
  const auto tile = score_tile<kGeneral, kPartial, U, kVectors>(visit, t);
  for (int i = 0; i < S::kKeys; ++i) {
    for (int j = 0; j < kVectors; ++j) {
      auto larger = maximum(tile.a[i][j], largest.v[j]);
      if constexpr (kPartial) larger = select(lanes_seeing(visit, t + i, j), larger, largest.v[j]);
      largest.v[j] = larger;
    }
  }
}

template <class U, int kVectors>
RowVectors<U, kVectors> no_scores() {
  RowVectors<U, kVectors> scores;
  for (auto& v : scores.v) v = broadcast(-typename U::Number(__builtin_inf()));
  return scores;
}

}  // namespace regard::REGARD_ISA

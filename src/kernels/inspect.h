// The second pass over the tiles of finished rows: weights of any stage, entropy and top keys. The
// scores are computed once more; a row's m and l are known.
#pragma once

#include <cstdint>

#include "contract/direct.h"
#include "kernels/direct_scores.h"
#include "kernels/output.h"
#include "kernels/row_state.h"
#include "prim/prim.h"

namespace regard::REGARD_ISA {

/// P of the tile as numbers, as in weigh_tile, and sum P (s - m) beside it. Lanes of rows that see
/// nothing are masked in full tiles too: their 0 has to be one.
template <bool kGeneral, bool kPartial, class U, int kVectors>
[[gnu::always_inline]] inline void inspect_tile(const Visit<U>& visit, std::int64_t t,
                                                RowVectors<U, kVectors>& sums) {
  using S = DirectShape<U>;
  using T = typename U::Number;
  const auto tile = score_tile<kGeneral, kPartial, U, kVectors>(visit, t);
  for (int j = 0; j < kVectors; ++j) {
    const auto m = load(visit.group.m + S::kLanes * j);
    auto sum = broadcast(T(0));
    for (int i = 0; i < S::kKeys; ++i) {
      auto x = exponent_of<kGeneral>(tile.a[i][j], m, visit.unit);
      auto p = exp2<T>(x);
      const auto seen = lanes_seeing(visit, t + i, j);
      p = select(seen, p, broadcast(T(0)));
      x = select(seen, x, broadcast(T(0)));
      sum = fma(p, x, sum);
      store(visit.p + (t + i) * S::kWidth + S::kLanes * j, p);
    }
    sums.v[j] = sums.v[j] + sum;
  }
}

template <bool kGeneral, class U, int kVectors>
void inspect_block(const Visit<U>& visit) {
  using T = typename U::Number;
  RowVectors<U, kVectors> sums{};
  for_each_tile(visit, [&]<bool kPartial>(std::int64_t t) {
    inspect_tile<kGeneral, kPartial>(visit, t, sums);
  });
  for (int j = 0; j < kVectors; ++j) {
    T* entropy = visit.group.entropy + DirectShape<U>::kLanes * j;
    store(entropy, load(entropy) + sums.v[j]);
  }
}

/// Scores of the block at the stage that is asked for, in natural units.
template <bool kGeneral, class U, int kVectors>
void score_block(const Visit<U>& visit) {
  using S = DirectShape<U>;
  using T = typename U::Number;
  const auto natural = broadcast(T(units_of(visit.task.score).natural));
  for_each_tile(visit, [&]<bool kPartial>(std::int64_t t) {
    const auto tile =
        score_tile<kGeneral, kPartial, U, kVectors>(visit, t, visit.task.weights_stage);
    for (int i = 0; i < S::kKeys; ++i) {
      for (int j = 0; j < kVectors; ++j) {
        store(visit.p + (t + i) * S::kWidth + S::kLanes * j, tile.a[i][j] * natural);
      }
    }
  });
}

/// Writes the block's pairs; tiles that no row sees keep what clear_weights wrote.
template <class U>
void store_weights(const Visit<U>& visit, bool normalise) {
  using T = typename U::Number;
  constexpr int width = DirectShape<U>::kWidth;
  const contract::Target& weights = visit.task.weights;
  const BlockView& view = visit.view;
  const std::int64_t size = view.block.end - view.block.begin;
  for (int r = 0; r < visit.group.count; ++r) {
    if (!(visit.group.live >> r & 1)) continue;
    const RowPlace place = row_place(visit.task, visit.group.first + r);
    T* row = reinterpret_cast<T*>(element_at(weights, place.head, place.item, view.block.begin));
    const T inverse = normalise ? visit.group.inverse[r] : T(1);
    const T share = normalise ? visit.group.share[r] : T(1);
    const T nothing = normalise ? T(0) : -T(__builtin_inf());
    for (int n = 0; n < view.run_count; ++n) {
      const std::int64_t end = smaller(view.runs[n].end, size);
      for (std::int64_t key = view.runs[n].begin; key < end; ++key) {
        const bool seen = view.seen[key] >> r & 1;
        const T weight = visit.p[key * width + r] * inverse * share;
        row[key * weights.column] = seen ? with_one_nan(weight) : nothing;
      }
    }
  }
}

/// What every pair of the group has that no tile computes: 0, before softmax -infinity.
template <class T, int kWidth>
void clear_weights(const contract::DirectTask& task, const RowGroup<T, kWidth>& group) {
  const contract::Target& weights = task.weights;
  const T nothing = task.weights_stage == contract::Stage::softmax ? T(0) : -T(__builtin_inf());
  for (int r = 0; r < group.count; ++r) {
    const RowPlace place = row_place(task, group.first + r);
    T* row = reinterpret_cast<T*>(element_at(weights, place.head, place.item, 0));
    for (std::int64_t key = 0; key < task.keys; ++key) row[key * weights.column] = nothing;
  }
}

/// Enters `weight` of `key` into row r's falling list; equal weights keep the order of their keys.
template <class T, int kWidth>
void enter_top(const RowGroup<T, kWidth>& group, std::int64_t top_count, int r, std::int64_t key,
               T weight) {
  std::int64_t at = top_count - 1;
  for (; at > 0 && weight > group.top_weights[(at - 1) * kWidth + r]; --at) {
    group.top_weights[at * kWidth + r] = group.top_weights[(at - 1) * kWidth + r];
    group.top_keys[at * kWidth + r] = group.top_keys[(at - 1) * kWidth + r];
  }
  group.top_weights[at * kWidth + r] = weight;
  group.top_keys[at * kWidth + r] = std::int32_t(key);
}

/// Looks for weights above the least of each row's list; most keys have none.
template <class U, int kVectors>
void find_top(const Visit<U>& visit) {
  using S = DirectShape<U>;
  using T = typename U::Number;
  const std::int64_t count = visit.task.top_count;
  const T* least = visit.group.top_weights + (count - 1) * S::kWidth;
  for_each_tile(visit, [&]<bool>(std::int64_t t) {
    for (std::int64_t key = t; key < t + S::kKeys; ++key) {
      for (int j = 0; j < kVectors; ++j) {
        const int lane = S::kLanes * j;
        const auto weight = load(visit.p + key * S::kWidth + lane) *
                            load(visit.group.inverse + lane) * load(visit.group.share + lane);
        if (!any(greater(weight, load(least + lane)))) continue;
        alignas(64) T weights[S::kLanes];
        store(weights, weight);
        for (int r = 0; r < S::kLanes; ++r) {
          if (weights[r] > least[lane + r]) {
            enter_top(visit.group, count, lane + r, visit.view.block.begin + key, weights[r]);
          }
        }
      }
    }
  });
}

/// Entropy of row r: with p = e^(s - m) f, f = share / l and E = sum e^(s - m) log2 e^(s - m),
/// -sum p ln p = -f ln 2 E - ln f sum p, and sum p = share.
template <class T, int kWidth>
double entropy_of(const RowGroup<T, kWidth>& group, int r) {
  const double share = double(group.share[r]);
  if (!(share > 0)) return share;  // an empty row, one that is all sink, or NaN
  const double l = double(group.l[r]);
  const double entropy = -share / l * kLn2 * double(group.entropy[r]) -
                         (log_positive(share) - log_positive(l)) * share;
  return entropy < 0 ? 0 : entropy;
}

template <class T, int kWidth>
void store_stats(const contract::DirectTask& task, const RowGroup<T, kWidth>& group) {
  for (int r = 0; r < group.count; ++r) {
    const RowPlace place = row_place(task, group.first + r);
    const T spoil = group.inverse[r] * group.share[r];  // NaN where the row is
    const bool sound = spoil == spoil;
    if (task.entropy.data) {
      number_at<T>(task.entropy, place.head, place.i) = T(with_one_nan(entropy_of(group, r)));
    }
    for (std::int64_t n = 0; n < task.top_count; ++n) {
      const std::int64_t at = n * kWidth + r;
      if (task.top_weights.data) {
        auto* weight = reinterpret_cast<T*>(element_at(task.top_weights, place.head, place.i, n));
        *weight = sound ? group.top_weights[at] : T(kNaN);
      }
      if (task.top_keys.data) {
        auto* key =
            reinterpret_cast<std::int64_t*>(element_at(task.top_keys, place.head, place.i, n));
        *key = sound ? group.top_keys[at] : -1;
      }
    }
  }
}

/// Everything a second pass over one block can bring.
template <bool kGeneral, class U, int kVectors>
void second_pass(const Visit<U>& visit) {
  const contract::DirectTask& task = visit.task;
  const bool softmax = task.weights_stage == contract::Stage::softmax;
  if (task.entropy.data || task.top_count > 0 || softmax) {
    inspect_block<kGeneral, U, kVectors>(visit);
    if (task.top_count > 0) find_top<U, kVectors>(visit);
    if (task.weights.data && softmax) store_weights(visit, true);
  }
  if (task.weights.data && !softmax) {
    score_block<kGeneral, U, kVectors>(visit);
    store_weights(visit, false);
  }
}

}  // namespace regard::REGARD_ISA

// The direct loop: S' = K Q', O' = V' P' with lanes as query rows. K and V are read by broadcast,
// in place at any stride or from a converted block; maximum, sum and rescaling are vertical. Blocks
// of keys lie on the sequence's own grid and every lane does the same arithmetic whatever the other
// lanes hold, so a row's bits depend on its own query, keys and options alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "contract/direct.h"
#include "kernels/direct_scores.h"
#include "kernels/hiding.h"
#include "kernels/inspect.h"
#include "kernels/output.h"
#include "kernels/panels.h"
#include "kernels/row_state.h"
#include "prim/prim.h"

namespace regard::REGARD_ISA {

inline constexpr int kMostGroups = 8;

/// Gives m to the rows that see their first key in this block.
template <bool kGeneral, class T, int kVectors>
void set_references(const Visit<T>& visit) {
  using S = DirectShape<T>;
  auto& group = visit.group;
  for_each_tile(visit, [&]<bool>(std::int64_t t) {
    if (group.unset == 0) return;
    std::uint64_t seeing = 0;
    for (int i = 0; i < S::kKeys; ++i) seeing |= visit.view.seen[t + i];
    seeing &= group.unset;
    if (seeing == 0) return;
    auto largest = no_scores<T, kVectors>();
    raise_to_largest<kGeneral>(visit, t, largest);
    alignas(64) T values[S::kWidth];
    for (int j = 0; j < kVectors; ++j) store(values + S::kLanes * j, largest.v[j]);
    for (int r = 0; r < group.count; ++r) {
      if (seeing >> r & 1) group.m[r] = values[r];
    }
    group.unset &= ~seeing;
  });
}

/// Raises m of the rows whose sum has passed the limit, to the largest score of the block or by
/// kLeastRaise; rescales their l and O. Rows with a NaN sum are past helping and stay.
template <bool kGeneral, class T, int kVectors>
void raise_references(const Visit<T>& visit, const RowVectors<T, kVectors>& sums) {
  using S = DirectShape<T>;
  auto largest = no_scores<T, kVectors>();
  for_each_tile(visit,
                [&]<bool>(std::int64_t t) { raise_to_largest<kGeneral>(visit, t, largest); });
  const auto least = broadcast(T(kLeastRaise) / visit.unit);
  for (int j = 0; j < kVectors; ++j) {
    const auto over = greater(sums.v[j], broadcast(T(kRaiseAbove)));
    if (!any(over)) continue;
    T* m = visit.group.m + S::kLanes * j;
    T* l = visit.group.l + S::kLanes * j;
    const auto raised = maximum(load(m) + least, largest.v[j]);
    const auto factor = exp2<T>(exponent_of<kGeneral>(load(m), raised, visit.unit));
    store(m, select(over, raised, load(m)));
    store(l, select(over, load(l) * factor, load(l)));
    for (std::int64_t d = 0; d < visit.task.value_dims; ++d) {
      T* out = visit.group.out + d * S::kWidth + S::kLanes * j;
      store(out, select(over, load(out) * factor, load(out)));
    }
  }
}

/// Adds p v for keys that some row does not see: hidden pairs are skipped, not multiplied by 0,
/// because 0 times infinity is not 0. Keys that no row sees are not read.
template <class T, int kVectors>
[[gnu::always_inline]] inline void add_partial(const Visit<T>& visit, const Run& run,
                                               const T* const (&column)[DirectShape<T>::kKeys],
                                               Tile<T, DirectShape<T>::kKeys, kVectors>& tile) {
  using S = DirectShape<T>;
  for (std::int64_t key = run.begin; key < run.end; ++key) {
    if (visit.view.seen[key] == 0) continue;
    typename S::Vector p[kVectors];
    typename Simd<T>::Mask seen[kVectors];
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) {
      p[j] = load(visit.p + key * S::kWidth + S::kLanes * j);
      seen[j] = lanes_seeing(visit, key, j);
    }
#pragma GCC unroll 8
    for (int i = 0; i < S::kKeys; ++i) {
      const auto v = broadcast(column[i][key * visit.v.row]);
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) tile.a[i][j] = fma_where(seen[j], v, p[j], tile.a[i][j]);
    }
  }
}

/// O' += V' P' for kKeys value columns from d0; columns past Dv repeat the last one into padding.
/// The block is summed apart and added once: chains of at most kBlockKeys roundings. It starts from
/// -0, which added to any number leaves its bits: lanes that see no key of the block keep theirs.
template <class T, int kVectors>
void add_values(const Visit<T>& visit, std::int64_t d0) {
  using S = DirectShape<T>;
  const T* column[S::kKeys];
  for (int i = 0; i < S::kKeys; ++i) {
    column[i] = visit.v.first + smaller(d0 + i, visit.task.value_dims - 1) * visit.v.column;
  }
  Tile<T, S::kKeys, kVectors> tile;
#pragma GCC unroll 8
  for (int i = 0; i < S::kKeys; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) tile.a[i][j] = broadcast(-T(0));
  }
  for (int n = 0; n < visit.view.run_count; ++n) {
    const Run& run = visit.view.runs[n];
    if (!run.full) {
      add_partial(visit, run, column, tile);
      continue;
    }
    const T* from[S::kKeys];
    for (int i = 0; i < S::kKeys; ++i) from[i] = column[i] + run.begin * visit.v.row;
    add_products(tile, from, visit.v.row, visit.p + run.begin * S::kWidth, S::kWidth,
                 run.end - run.begin);
  }
  T* out = visit.group.out + d0 * S::kWidth;
#pragma GCC unroll 8
  for (int i = 0; i < S::kKeys; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) {
      T* at = out + i * S::kWidth + S::kLanes * j;
      store(at, load(at) + tile.a[i][j]);
    }
  }
}

template <bool kGeneral, class T, int kVectors>
void visit_block(const Visit<T>& visit) {
  using S = DirectShape<T>;
  if (visit.group.unset != 0) set_references<kGeneral, T, kVectors>(visit);
  RowVectors<T, kVectors> sums;
  const auto sum_block = [&] {
    sums = {};
    weigh_block<kGeneral>(visit, sums);
    for (int j = 0; j < kVectors; ++j) sums.v[j] = load(visit.group.l + S::kLanes * j) + sums.v[j];
    bool over = false;
    for (auto& v : sums.v) over |= any(greater(v, broadcast(T(kRaiseAbove))));
    return over;
  };
  if (sum_block()) {
    raise_references<kGeneral>(visit, sums);
    sum_block();
  }
  for (int j = 0; j < kVectors; ++j) store(visit.group.l + S::kLanes * j, sums.v[j]);
  if (!visit.task.out.data) return;
  for (std::int64_t d = 0; d < visit.task.value_dims; d += S::kKeys) {
    add_values<T, kVectors>(visit, d);
  }
}

/// Calls action with the fewest vectors that hold the group's rows.
template <class T, int kVectors = Simd<T>::kTileVectors, class Action>
[[gnu::always_inline]] inline void with_vectors(int rows, const Action& action) {
  if constexpr (kVectors > 1) {
    if (rows <= (kVectors - 1) * Simd<T>::kLanes) {
      with_vectors<T, kVectors - 1>(rows, action);
      return;
    }
  }
  action.template operator()<kVectors>();
}

/// The row groups of a task and the worker's memory that they share.
template <class T>
struct Groups {
  using S = DirectShape<T>;

  const contract::DirectTask& task;
  T* p;
  T* bias;
  KeyReader<T> k, v;
  T unit;
  int count = 0;
  typename S::Group group[kMostGroups];

  explicit Groups(const contract::DirectTask& t)
      : task(t),
        p(reinterpret_cast<T*>(t.scratch)),
        bias(reinterpret_cast<T*>(t.scratch + t.layout.bias_bytes)),
        k(t.k, t.dims, reinterpret_cast<T*>(t.scratch + t.layout.keys_bytes)),
        v(t.v, t.value_dims, reinterpret_cast<T*>(t.scratch + t.layout.values_bytes)),
        unit(T(units_of(t.score).exponent)) {}

  /// Sets up group `count` with the rows from `first` on.
  void add(std::byte* memory, std::int64_t first, std::int64_t end) {
    auto& next = group[count++];
    next = typename S::Group(memory, task.layout, task.top_count);
    next.first = first;
    next.count = int(smaller(S::kWidth, end - first));
    start_rows(next, task, task.out.data ? ceil_to(task.value_dims, S::kKeys) : 0);
    pack_queries(task, next, T(units_of(task.score).factor));
  }
};

/// Every block of `keys` in ascending order, and in it every group that sees any of its keys.
template <bool kValues, class T, class Action>
void for_each_visit(Groups<T>& groups, Keys keys, const Action& action) {
  Keys some{keys.end, keys.begin};
  for (int g = 0; g < groups.count; ++g) {
    const Keys& any = groups.group[g].keys.any;
    if (any.end != 0) some = {smaller(some.begin, any.begin), larger(some.end, any.end)};
  }
  some = intersect(some, keys);
  BlockView view;
  for (auto begin = floor_to(some.begin, kBlockKeys); begin < some.end; begin += kBlockKeys) {
    const Keys block = {begin, smaller(begin + kBlockKeys, groups.task.keys)};
    groups.k.enter(block);
    groups.v.enter(block);
    for (int g = 0; g < groups.count; ++g) {
      auto& group = groups.group[g];
      look_at_block(groups.task, group, block, DirectShape<T>::kKeys, groups.bias, view);
      if (view.run_count == 0) continue;
      if (groups.task.score.slopes.data) place_rows(group, groups.task, block);
      const KeyRows<T> v = kValues ? groups.v.read(view) : KeyRows<T>{};
      action(Visit<T>{groups.task, group, view, groups.k.read(view), v, groups.unit, groups.p,
                      groups.bias});
    }
  }
}

template <bool kGeneral, class T>
void run_rows(const contract::DirectTask& task) {
  using S = DirectShape<T>;
  Groups<T> groups(task);
  std::byte* memory = task.scratch + task.layout.groups_bytes;
  for (auto first = task.row_begin; first < task.row_end; first += S::kWidth) {
    groups.add(memory, first, task.row_end);
    memory += task.layout.group_size_bytes;
  }
  const Keys keys{0, task.keys};
  const auto visit_all = [](const Visit<T>& visit) {
    with_vectors<T>(visit.group.count,
                    [&]<int kVectors>() { visit_block<kGeneral, T, kVectors>(visit); });
  };
  if (task.out.data) {
    for_each_visit<true>(groups, keys, visit_all);
  } else {
    for_each_visit<false>(groups, keys, visit_all);
  }
  const bool again = task.weights.data || task.entropy.data || task.top_count > 0;
  for (int g = 0; g < groups.count; ++g) {
    finish_rows(task, groups.group[g]);
    if (task.out.data) store_out(task, groups.group[g]);
    if (task.weights.data) clear_weights(task, groups.group[g]);
  }
  if (!again) return;
  for_each_visit<false>(groups, keys, [](const Visit<T>& visit) {
    with_vectors<T>(visit.group.count,
                    [&]<int kVectors>() { second_pass<kGeneral, T, kVectors>(visit); });
  });
  for (int g = 0; g < groups.count; ++g) store_stats(task, groups.group[g]);
}

template <class T>
void run_direct(const contract::DirectTask& task) noexcept {
  const FlushDenormals flush;
  task.score.general ? run_rows<true, T>(task) : run_rows<false, T>(task);
}

}  // namespace regard::REGARD_ISA

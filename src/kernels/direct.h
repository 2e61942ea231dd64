// The direct loop: S' = K Q', O' = V' P' with lanes as query rows. K and V are read in place, at
// any stride, by broadcast; maximum, sum and rescaling are vertical. Blocks of keys lie on the
// sequence's own grid and every lane does the same arithmetic whatever the other lanes hold, so a
// row's bits depend on its own query and keys alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "contract/direct.h"
#include "kernels/direct_scores.h"
#include "kernels/output.h"
#include "kernels/panels.h"
#include "kernels/row_state.h"
#include "prim/prim.h"

namespace regard::REGARD_ISA {

inline constexpr int kMostGroups = 8;
inline constexpr double kLog2E = 1.44269504088896340736;

/// Gives m to the rows whose first key lies in this block.
template <class T, int kVectors>
void set_references(const Visit<T>& visit) {
  using S = DirectShape<T>;
  const Keys first_keys = {visit.group.keys.any.begin, visit.group.keys.all.begin + 1};
  const Keys here = intersect(first_keys, visit.block);
  if (here.begin >= here.end) return;
  for (auto t = floor_to(here.begin, S::kKeys); t < here.end; t += S::kKeys) {
    const auto largest = largest_scores<T, kVectors>(visit, t, t + S::kKeys);
    alignas(64) T values[S::kWidth];
    for (int j = 0; j < kVectors; ++j) store(values + S::kLanes * j, largest.v[j]);
    for (int r = 0; r < visit.group.count; ++r) {
      const auto lo = visit.group.lo[r];
      if (lo >= t && lo < t + S::kKeys && lo < visit.group.hi[r]) visit.group.m[r] = values[r];
    }
  }
}

/// Raises m of the rows whose sum has passed the limit, to the largest score of the block or by
/// kLeastRaise; rescales their l and O. Rows with a NaN sum are past helping and stay.
template <class T, int kVectors>
void raise_references(const Visit<T>& visit, const RowVectors<T, kVectors>& sums) {
  using S = DirectShape<T>;
  const auto largest = largest_scores<T, kVectors>(visit, visit.tiles.begin, visit.tiles.end);
  for (int j = 0; j < kVectors; ++j) {
    const auto over = greater(sums.v[j], broadcast(T(kRaiseAbove)));
    if (!any(over)) continue;
    T* m = visit.group.m + S::kLanes * j;
    T* l = visit.group.l + S::kLanes * j;
    const auto raised = maximum(load(m) + broadcast(T(kLeastRaise)), largest.v[j]);
    const auto factor = exp2<T>(load(m) - raised);
    store(m, select(over, raised, load(m)));
    store(l, select(over, load(l) * factor, load(l)));
    for (std::int64_t d = 0; d < visit.task.value_dims; ++d) {
      T* out = visit.group.out + d * S::kWidth + S::kLanes * j;
      store(out, select(over, load(out) * factor, load(out)));
    }
  }
}

/// Adds p v for keys that some row does not see: hidden pairs are skipped, not multiplied by 0,
/// because 0 times infinity is not 0.
template <class T, int kVectors>
[[gnu::always_inline]] inline void add_partial(const Visit<T>& visit, Keys keys,
                                               const T* const (&column)[DirectShape<T>::kKeys],
                                               Tile<T, DirectShape<T>::kKeys, kVectors>& tile) {
  using S = DirectShape<T>;
  for (std::int64_t key = keys.begin; key < keys.end; ++key) {
    const std::int64_t offset = key - visit.block.begin;
    for (int j = 0; j < kVectors; ++j) {
      const auto seen = lanes_seeing(visit, offset, j);
      const auto p = load(visit.p + offset * S::kWidth + S::kLanes * j);
#pragma GCC unroll 8
      for (int i = 0; i < S::kKeys; ++i) {
        const auto v = broadcast(column[i][offset * visit.task.v_row]);
        tile.a[i][j] = fma_where(seen, v, p, tile.a[i][j]);
      }
    }
  }
}

/// O' += V' P' for kKeys value columns from d0; columns past Dv repeat the last one into padding.
/// The block is summed apart and added once: chains of at most kBlockKeys roundings. It starts from
/// -0, which added to any number leaves its bits: lanes that see no key of the block keep theirs.
template <class T, int kVectors>
void add_values(const Visit<T>& visit, std::int64_t d0) {
  using S = DirectShape<T>;
  const contract::DirectTask& task = visit.task;
  const BlockTiles& tiles = visit.tiles;
  const T* block_v = static_cast<const T*>(task.v) + visit.block.begin * task.v_row;
  const T* column[S::kKeys];
  for (int i = 0; i < S::kKeys; ++i) {
    column[i] = block_v + smaller(d0 + i, task.value_dims - 1) * task.v_dim;
  }
  T* out = visit.group.out + d0 * S::kWidth;
  Tile<T, S::kKeys, kVectors> tile;
#pragma GCC unroll 8
  for (int i = 0; i < S::kKeys; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) tile.a[i][j] = broadcast(-T(0));
  }
  add_partial(visit, intersect(tiles.readable, {tiles.begin, tiles.full.begin}), column, tile);
  if (tiles.full.begin < tiles.full.end) {
    const std::int64_t offset = tiles.full.begin - visit.block.begin;
    for (auto& c : column) c += offset * task.v_row;
    add_products(tile, column, task.v_row, visit.p + offset * S::kWidth, S::kWidth,
                 tiles.full.end - tiles.full.begin);
    for (auto& c : column) c -= offset * task.v_row;
  }
  add_partial(visit, intersect(tiles.readable, {tiles.full.end, tiles.end}), column, tile);
#pragma GCC unroll 8
  for (int i = 0; i < S::kKeys; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) {
      T* at = out + i * S::kWidth + S::kLanes * j;
      store(at, load(at) + tile.a[i][j]);
    }
  }
}

template <class T, int kVectors>
void visit_block(const Visit<T>& visit) {
  using S = DirectShape<T>;
  enter_block(visit.group, visit.block);
  set_references<T, kVectors>(visit);
  RowVectors<T, kVectors> sums;
  const auto sum_block = [&] {
    sums = {};
    weigh_block(visit, sums);
    for (int j = 0; j < kVectors; ++j) sums.v[j] = load(visit.group.l + S::kLanes * j) + sums.v[j];
    bool over = false;
    for (auto& v : sums.v) over |= any(greater(v, broadcast(T(kRaiseAbove))));
    return over;
  };
  if (sum_block()) {
    raise_references(visit, sums);
    sum_block();
  }
  for (int j = 0; j < kVectors; ++j) store(visit.group.l + S::kLanes * j, sums.v[j]);
  if (!visit.task.out) return;
  for (std::int64_t d = 0; d < visit.task.value_dims; d += S::kKeys) {
    add_values<T, kVectors>(visit, d);
  }
}

/// Weights of finished rows, block by block: the scores are computed once more.
template <class T, int kVectors>
void write_weights(const Visit<T>& visit) {
  RowVectors<T, kVectors> unused{};
  enter_block(visit.group, visit.block);
  weigh_block(visit, unused);
  store_weights(visit.task, visit.group, visit.p, visit.block.begin, visit.tiles.readable.begin,
                visit.tiles.readable.end);
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

/// Every block of keys in ascending order, and in it every group that sees any of its keys.
template <class T, class Action>
void for_each_visit(const contract::DirectTask& task, typename DirectShape<T>::Group* groups,
                    int group_count, const Action& action) {
  Keys keys{task.keys, 0};
  for (int g = 0; g < group_count; ++g) {
    if (groups[g].keys.any.end == 0) continue;
    keys = {smaller(keys.begin, groups[g].keys.any.begin),
            larger(keys.end, groups[g].keys.any.end)};
  }
  for (auto begin = floor_to(keys.begin, kBlockKeys); begin < keys.end; begin += kBlockKeys) {
    const Keys block = {begin, smaller(begin + kBlockKeys, task.keys)};
    for (int g = 0; g < group_count; ++g) {
      const BlockTiles tiles = block_tiles(groups[g].keys, block, DirectShape<T>::kKeys);
      if (tiles.begin == tiles.end) continue;
      action(Visit<T>{task, groups[g], block, tiles, reinterpret_cast<T*>(task.scratch)});
    }
  }
}

template <class T>
void finish_group(const contract::DirectTask& task, const typename DirectShape<T>::Group& group) {
  if (task.out) store_out(task, group);
  if (task.lse) store_lse(task, group);
  if (task.weights) {
    clear_weights(task, group, 0, group.keys.any.begin);
    clear_weights(task, group, group.keys.any.end, task.keys);
  }
}

template <class T>
void run_direct(const contract::DirectTask& task) noexcept {
  using S = DirectShape<T>;
  const FlushDenormals flush;
  typename S::Group groups[kMostGroups];
  int count = 0;
  for (auto first = task.row_begin; first < task.row_end; first += S::kWidth, ++count) {
    auto& group = groups[count];
    group = typename S::Group(
        task.scratch + task.layout.group_offset_bytes + count * task.layout.group_bytes,
        task.layout);
    group.first = first;
    group.count = int(smaller(S::kWidth, task.row_end - first));
    start_rows(group, task, task.out ? ceil_to(task.value_dims, S::kKeys) : 0);
    pack_queries<T, S::kWidth>(task, first, group.count, group.lo, group.hi, T(task.scale * kLog2E),
                               group.queries);
  }
  for_each_visit<T>(task, groups, count, [](const Visit<T>& visit) {
    with_vectors<T>(visit.group.count, [&]<int kVectors>() { visit_block<T, kVectors>(visit); });
  });
  for (int g = 0; g < count; ++g) finish_group<T>(task, groups[g]);
  if (!task.weights) return;
  for_each_visit<T>(task, groups, count, [](const Visit<T>& visit) {
    with_vectors<T>(visit.group.count, [&]<int kVectors>() { write_weights<T, kVectors>(visit); });
  });
}

/// The facts of this loop for the plan.
template <class T>
inline constexpr contract::DirectKernel kDirectKernel = {
    .run = run_direct<T>,
    .rows_per_group = DirectShape<T>::kWidth,
    .keys_per_tile = DirectShape<T>::kKeys,
    .keys_per_block = kBlockKeys,
    .element_bytes = sizeof(T),
    .state_values_per_row = DirectShape<T>::Group::kStateValues,
    .most_groups = kMostGroups,
};

}  // namespace regard::REGARD_ISA

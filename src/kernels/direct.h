// The direct loop: S' = K Q', O' = V' P' with lanes as query rows. How K, V and P lie in memory and
// are multiplied is the unit's business; maximum, sum and rescaling are vertical. Blocks of keys
// lie on the sequence's own grid and every lane does the same arithmetic whatever the other lanes
// hold, so a row's bits depend on its own query, keys and options alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "contract/direct.h"
#include "kernels/ahead.h"
#include "kernels/direct_scores.h"
#include "kernels/hiding.h"
#include "kernels/inspect.h"
#include "kernels/output.h"
#include "kernels/row_state.h"
#include "prim/prim.h"

namespace regard::REGARD_ISA {

inline constexpr int kMostGroups = 16;

/// Gives m to the rows that see their first key in this block.
template <bool kGeneral, class U, int kVectors>
void set_references(const Visit<U>& visit) {
  using S = DirectShape<U>;
  using T = typename U::Number;
  auto& group = visit.group;
  for_each_tile(visit, [&]<bool kPartial>(std::int64_t t) {
    if (group.unset == 0) return;
    std::uint64_t seeing = 0;
    for (int i = 0; i < S::kKeys; ++i) seeing |= visit.view.seen[t + i];
    seeing &= group.unset;
    if (seeing == 0) return;
    auto largest = no_scores<U, kVectors>();
    raise_to_largest<kGeneral, kPartial>(visit, t, largest);
    alignas(64) T values[S::kWidth];
    for (int j = 0; j < kVectors; ++j) store(values + S::kLanes * j, largest.v[j]);
    for (int r = 0; r < group.count; ++r) {
      if (seeing >> r & 1) group.m[r] = values[r];
    }
    group.unset &= ~seeing;
  });
}

/// Lanes whose l, with the block's sum, asks for a higher m. Rough weights above all bf16 are NaN,
/// so a NaN sum asks for it too. An l that is NaN from blocks before is past helping and does not:
/// its group would compute every block twice.
template <class U, class Vector>
[[gnu::always_inline]] inline auto passes_limit(const Visit<U>& visit, Vector l, Vector sum) {
  using T = typename U::Number;
  if constexpr (U::kPairs) {
    if (visit.rough) sum = minimum(sum, broadcast(T(__builtin_inf())));  // in this order NaN goes
  }
  return greater(l + sum, broadcast(T(kRaiseAbove)));
}

/// Raises m of the rows whose l passes the limit with the block's `sums`, to the largest score of
/// the block or by kLeastRaise; rescales their l and O.
template <bool kGeneral, class U, int kVectors>
void raise_references(const Visit<U>& visit, const RowVectors<U, kVectors>& sums) {
  using S = DirectShape<U>;
  using T = typename U::Number;
  auto largest = no_scores<U, kVectors>();
  for_each_tile(visit, [&]<bool kPartial>(std::int64_t t) {
    raise_to_largest<kGeneral, kPartial>(visit, t, largest);
  });
  const auto least = broadcast(T(kLeastRaise) / visit.unit);
  for (int j = 0; j < kVectors; ++j) {
    T* m = visit.group.m + S::kLanes * j;
    T* l = visit.group.l + S::kLanes * j;
    const auto over = passes_limit(visit, load(l), sums.v[j]);
    if (!any(over)) continue;
    const auto raised = maximum(load(m) + least, largest.v[j]);
    const auto factor = exp2<T>(exponent_of<kGeneral>(load(m), raised, visit.unit));
    store(m, select(over, raised, load(m)));
    store(l, select(over, load(l) * factor, load(l)));
    if (!visit.group.started) continue;
    for (std::int64_t d = 0; d < visit.task.value_dims; ++d) {
      T* out = visit.group.out + d * S::kWidth + S::kLanes * j;
      store(out, select(over, load(out) * factor, load(out)));
    }
  }
}

template <bool kGeneral, class U, int kVectors>
void visit_block(const Visit<U>& visit) {
  using S = DirectShape<U>;
  if (visit.group.unset != 0) set_references<kGeneral, U, kVectors>(visit);
  auto* l = visit.group.l;
  RowVectors<U, kVectors> sums;
  const auto sum_block = [&](bool careful) {
    sums = {};
    weigh_block<kGeneral>(visit, careful, sums);
    bool over = false;
    for (int j = 0; j < kVectors; ++j) {
      over |= any(passes_limit(visit, load(l + S::kLanes * j), sums.v[j]));
    }
    return over;
  };
  const bool rough = U::kPairs && visit.rough;
  if (sum_block(false) && (!rough || sum_block(true))) {
    raise_references<kGeneral>(visit, sums);
    sum_block(true);
  }
  for (int j = 0; j < kVectors; ++j) {
    store(l + S::kLanes * j, load(l + S::kLanes * j) + sums.v[j]);
  }
  if (!visit.task.out.data) return;
  U::template add_values<Visit<U>, kVectors>(visit);
}

/// Nothing is asked for that shows how exact weights and their sums are.
inline bool only_out(const contract::DirectTask& task) {
  return task.out.data && !task.lse.data && !task.entropy.data && !task.weights.data &&
         task.top_count == 0 && !task.kept.data && !task.mass.data;
}

/// The row groups of a task and the worker's memory that they share.
template <class U>
struct Groups {
  using S = DirectShape<U>;
  using T = typename U::Number;
  using Operand = typename U::Operand;

  const contract::DirectTask& task;
  T* p;
  T* bias;
  typename U::Keys k;
  typename U::Values v;
  Units units;
  bool rough;
  int count = 0;
  typename S::Group group[kMostGroups];

  explicit Groups(const contract::DirectTask& t)
      : task(t),
        p(reinterpret_cast<T*>(t.scratch)),
        bias(reinterpret_cast<T*>(t.scratch + t.layout.bias_bytes)),
        k(t.k, t.dims, reinterpret_cast<Operand*>(t.scratch + t.layout.keys_bytes)),
        v(t.v, t.value_dims, reinterpret_cast<Operand*>(t.scratch + t.layout.values_bytes)),
        units(units_of(t.score)),
        rough(only_out(t)) {}

  /// Sets up group `count` with the rows from `first` on, as many as it holds.
  void add(std::byte* memory, std::int64_t first, std::int64_t end) {
    auto& next = group[count++];
    next = typename S::Group(memory, task.layout, task.top_count);
    next.first = first;
    next.count = int(smaller(S::kWidth, end - first));
    start_rows(next, task);
    if (!U::kStartsOut && task.out.data) start_out(next);
  }

  void start_out(typename S::Group& g) {
    regard::REGARD_ISA::start_out(g, ceil_to(task.value_dims, U::kTileColumns));
  }

  /// Packs the queries of group g at its first visit; those of the next group are asked for then.
  void pack_queries(int g) {
    if (group[g].packed) return;
    U::pack_queries(task, group[g], T(units.factor));
    group[g].packed = true;
  }
};

/// A block of K and V is small enough to lie beside the one before and the row groups, in L2.
template <class U>
bool fits_ahead(const contract::DirectTask& task) {
  const std::int64_t bytes =
      task.dims * task.k.element_bytes + task.value_dims * task.v.element_bytes;
  return U::kBlockKeys * bytes <= kMostAheadBytes;
}

/// What a visit of group g asks for: its part `next` of the next block, the queries of the next
/// group and, at its last visit, its rows of out.
template <bool kValues, class U>
Ahead rows_ahead(const Groups<U>& groups, int g, const BlockView& view, Keys next) {
  const contract::DirectTask& task = groups.task;
  const auto rows_of = [](const auto& group) {
    return Keys{group.first, group.first + group.count};
  };
  const auto& group = groups.group[g];
  Ahead ahead;
  if (!fits_ahead<U>(task)) next = {};
  ahead.k = RowsAhead(task.k, task.dims, next);
  if (kValues) ahead.v = RowsAhead(task.v, task.value_dims, next);
  if (g + 1 < groups.count && !groups.group[g + 1].packed) {
    ahead.queries = RowsAhead(task, task.q, task.dims, rows_of(groups.group[g + 1]));
  }
  if (kValues && group.keys.any.end <= view.block.end) {
    ahead.out = RowsAhead(task, task.out, task.value_dims, rows_of(group));
  }
  ahead.spread(count_tiles(view, DirectShape<U>::kKeys));
  return ahead;
}

/// Every block of `keys` in ascending order, and in it every group that sees any of its keys.
template <bool kValues, class U, class Action>
void for_each_visit(Groups<U>& groups, Keys keys, const Action& action) {
  Keys some{keys.end, keys.begin};
  for (int g = 0; g < groups.count; ++g) {
    const Keys& any = groups.group[g].keys.any;
    if (any.end != 0) some = {smaller(some.begin, any.begin), larger(some.end, any.end)};
  }
  some = intersect(some, keys);
  BlockView view;
  for (auto begin = floor_to(some.begin, U::kBlockKeys); begin < some.end; begin += U::kBlockKeys) {
    const Keys block = {begin, smaller(begin + U::kBlockKeys, groups.task.keys)};
    groups.k.enter(block);
    groups.v.enter(block);
    const Keys next = intersect({block.end, block.end + U::kBlockKeys}, some);
    int visitors = 0;
    for (int g = 0; g < groups.count; ++g) visitors += sees_any(groups.group[g].keys, block);
    for (int g = 0, visitor = 0; g < groups.count; ++g) {
      auto& group = groups.group[g];
      if (!sees_any(group.keys, block)) continue;
      const Keys part = part_of(next, visitor++, visitors);
      look_at_block(groups.task, group, block, DirectShape<U>::kKeys, groups.bias, view);
      if (view.run_count == 0) continue;
      if (groups.task.score.slopes.data) place_rows(group, groups.task, block);
      groups.pack_queries(g);
      Ahead ahead = rows_ahead<kValues>(groups, g, view, part);
      using T = typename U::Number;
      using Rows = typename U::Values::Rows;
      action(Visit<U>{groups.task, group, view, groups.k.read(view),
                      kValues ? groups.v.read(view) : Rows{},
                      U::left_factor(T(groups.units.factor)), T(groups.units.exponent),
                      groups.rough, groups.p, groups.bias, ahead});
    }
  }
}

/// Cuts the task's rows into the fewest groups and gives each as many vectors as the next, or one
/// step more: a lone vector at the end would load more than it multiplies.
template <class U>
void add_groups(Groups<U>& groups) {
  constexpr std::int64_t rows = DirectShape<U>::kLanes * U::kVectorStep;
  constexpr std::int64_t most = DirectShape<U>::kWidth / rows;
  const contract::DirectTask& task = groups.task;
  std::int64_t steps = ceil_to(larger(task.row_end - task.row_begin, 0), rows) / rows;
  std::byte* memory = task.scratch + task.layout.groups_bytes;
  auto first = task.row_begin;
  for (auto left = ceil_to(steps, most) / most; left > 0; --left) {
    const auto own = ceil_to(steps, left) / left;
    groups.add(memory, first, smaller(first + own * rows, task.row_end));
    first += own * rows;
    steps -= own;
    memory += task.layout.group_size_bytes;
  }
}

template <bool kGeneral, class U>
void run_rows(const contract::DirectTask& task) {
  Groups<U> groups(task);
  add_groups(groups);
  const Keys keys{0, task.keys};
  const auto visit_all = [](const Visit<U>& visit) {
    with_vectors<U>(visit.group.count,
                    [&]<int kVectors>() { visit_block<kGeneral, U, kVectors>(visit); });
  };
  if (task.out.data) {
    for_each_visit<true>(groups, keys, visit_all);
  } else {
    for_each_visit<false>(groups, keys, visit_all);
  }
  const bool again = task.weights.data || task.entropy.data || task.top_count > 0;
  for (int g = 0; g < groups.count; ++g) {
    finish_rows(task, groups.group[g]);
    if (task.out.data) {
      groups.start_out(groups.group[g]);
      store_out<U>(task, groups.group[g]);
    }
    if (task.weights.data) clear_weights(task, groups.group[g]);
  }
  if (!again) return;
  for_each_visit<false>(groups, keys, [](const Visit<U>& visit) {
    with_vectors<U>(visit.group.count,
                    [&]<int kVectors>() { second_pass<kGeneral, U, kVectors>(visit); });
  });
  for (int g = 0; g < groups.count; ++g) store_stats(task, groups.group[g]);
}

template <class U>
void run_direct(const contract::DirectTask& task) noexcept {
  const FlushDenormals flush;
  [[maybe_unused]] const typename U::Session session;
  task.score.general ? run_rows<true, U>(task) : run_rows<false, U>(task);
}

}  // namespace regard::REGARD_ISA

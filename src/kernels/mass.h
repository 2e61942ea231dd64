// Key masses: the sum of each key's weights over all rows of one query head. m and 1/l of the rows
// are known. The rows go by in ascending order whatever the number of threads, summed in f64 lane
// by lane.
#pragma once

#include <cstdint>

#include "contract/direct.h"
#include "kernels/direct.h"
#include "kernels/inspect.h"

namespace regard::REGARD_ISA {

template <class U>
void load_finished(const contract::DirectTask& task, typename DirectShape<U>::Group& group) {
  using T = typename U::Number;
  for (int r = 0; r < DirectShape<U>::kWidth; ++r) {
    group.inverse[r] = group.share[r] = 0;
    if (r >= group.count) continue;
    const RowPlace place = row_place(task, group.first + r);
    const T* kept = &number_at<T>(task.kept, 0, place.i);
    group.m[r] = kept[0];
    group.inverse[r] = kept[task.kept.column];
    group.share[r] = kept[2 * task.kept.column];
  }
}

/// Adds the weights of a visited block to `sums`, (keys, kWidth) from the block's first key.
template <class U>
void add_masses(const Visit<U>& visit, double* sums) {
  using S = DirectShape<U>;
  using T = typename U::Number;
  for (int n = 0; n < visit.view.run_count; ++n) {
    const Run& run = visit.view.runs[n];
    for (std::int64_t key = run.begin; key < run.end; ++key) {
      const T* p = visit.p + key * S::kWidth;
      double* sum = sums + key * S::kWidth;
      for (int r = 0; r < visit.group.count; ++r) {
        const bool seen = visit.view.seen[key] >> r & 1;
        sum[r] += seen ? double(p[r] * visit.group.inverse[r] * visit.group.share[r]) : 0.0;
      }
    }
  }
}

/// Some row of the group that starts with row `first` sees some of `keys`. The rows of a mass task
/// are those of one head, in order.
template <class U>
bool sees_some(const contract::DirectTask& task, std::int64_t first, Keys keys) {
  const auto count = int(smaller(DirectShape<U>::kWidth, task.row_end - first));
  const Keys some = intersect(group_keys(task.lo + first, task.hi + first, count).any, keys);
  return some.begin < some.end;
}

template <bool kGeneral, class U>
void run_masses(const contract::DirectTask& task) {
  using S = DirectShape<U>;
  using T = typename U::Number;
  const Keys keys{task.key_begin, task.key_end};
  if (keys.begin >= keys.end) return;  // items reach to the end of the longest packed sequence
  Groups<U> groups(task);
  auto* sums = reinterpret_cast<double*>(task.scratch + task.layout.groups_bytes +
                                         task.layout.group_size_bytes);
  const std::int64_t all = ceil_to(keys.end - keys.begin, U::kBlockKeys);
  __builtin_memset(sums, 0, std::size_t(all * S::kWidth) * sizeof(double));
  for (auto first = task.row_begin; first < task.row_end; first += S::kWidth) {
    if (!sees_some<U>(task, first, keys)) continue;  // its rows would be set up for nothing
    groups.count = 0;
    groups.add(task.scratch + task.layout.groups_bytes, first, task.row_end);
    load_finished<U>(task, groups.group[0]);
    for_each_visit<false>(groups, keys, [&](const Visit<U>& visit) {
      with_vectors<U>(visit.group.count,
                      [&]<int kVectors>() { inspect_block<kGeneral, U, kVectors>(visit); });
      add_masses(visit, sums + (visit.view.block.begin - keys.begin) * S::kWidth);
    });
  }
  for (std::int64_t key = keys.begin; key < keys.end; ++key) {
    double mass = 0;
    for (int r = 0; r < S::kWidth; ++r) mass += sums[(key - keys.begin) * S::kWidth + r];
    *reinterpret_cast<T*>(element_at(task.mass, 0, 0, key)) = T(with_one_nan(mass));
  }
}

template <class U>
void run_mass(const contract::DirectTask& task) noexcept {
  const FlushDenormals flush;
  [[maybe_unused]] const typename U::Session session;
  task.score.general ? run_masses<true, U>(task) : run_masses<false, U>(task);
}

/// The facts of the direct loop for the plan.
template <class U>
inline constexpr contract::DirectKernel kDirectKernel = {
    .unit = U::kName,
    .emulated = U::kEmulated,
    .run = run_direct<U>,
    .run_mass = run_mass<U>,
    .few_rows = U::kFewRows,
    .rows_per_group = DirectShape<U>::kWidth,
    .rows_per_vector = DirectShape<U>::kLanes* U::kVectorStep,
    .keys_per_tile = DirectShape<U>::kKeys,
    .columns_per_tile = U::kTileColumns,
    .keys_per_block = U::kBlockKeys,
    .element_bytes = sizeof(typename U::Number),
    .operand_bytes = sizeof(typename U::Operand),
    .depth = U::kDepth,
    .panel_keys = U::kPanelKeys,
    .copies_partial = U::kCopiesPartial,
    .state_values_per_row = DirectShape<U>::Group::kStateValues,
    .most_groups = kMostGroups,
    .item_bytes = U::kItemBytes,
};

}  // namespace regard::REGARD_ISA

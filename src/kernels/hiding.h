// Pairs hidden one by one: by a mask, and by a bias of -infinity. Both only clear bits of a
// BlockView. The bias of a block is laid out as (keys, rows) on the way, so that lanes are rows.
#pragma once

#include <cstdint>

#include "contract/direct.h"
#include "kernels/row_state.h"
#include "prim/prim.h"

namespace regard::REGARD_ISA {

/// All rows of a group read the same row of `source`.
inline bool is_shared(const contract::Source& source, std::int64_t group) {
  return source.row == 0 && (source.head == 0 || group == 1);
}

/// Keys of the block, counted from its start, that some interval holds.
template <class T, int kWidth>
Keys keys_of_block(const RowGroup<T, kWidth>& group, Keys block) {
  const Keys keys = intersect(group.keys.any, block);
  return {keys.begin - block.begin, keys.end - block.begin};
}

/// Clears the bits of pairs that the mask hides.
template <class T, int kWidth>
void see_mask(const contract::DirectTask& task, const RowGroup<T, kWidth>& group, BlockView& view) {
  const contract::Source& mask = task.score.mask;
  const Keys keys = keys_of_block(group, view.block);
  const bool shared = is_shared(mask, task.group);
  const std::int64_t step = mask.column;
  for (int r = 0; r < (shared ? 1 : group.count); ++r) {
    if (!shared && !(group.live >> r & 1)) continue;
    const RowPlace place = row_place(task, group.first + r);
    const std::uint64_t rows = shared ? ~std::uint64_t{0} : std::uint64_t{1} << r;
    const auto* row = reinterpret_cast<const std::uint8_t*>(
        element_at(mask, place.head, place.i, view.block.begin));
    if (step == 1) {
      for (std::int64_t key = keys.begin; key < keys.end; ++key) {
        view.seen[key] &= row[key] ? ~std::uint64_t{0} : ~rows;
      }
    } else {
      for (std::int64_t key = keys.begin; key < keys.end; ++key) {
        view.seen[key] &= row[key * step] ? ~std::uint64_t{0} : ~rows;
      }
    }
  }
}

/// Bias of a row; what is finite in the caller's type stays finite in T.
template <class T>
void read_bias(const contract::Source& bias, const std::byte* source, std::int64_t count,
               T* target) {
  if (sizeof(T) == 8 || bias.type != contract::Element::f64) {
    read_elements<T>(bias.type, source, bias.column, count, target);
    return;
  }
  constexpr double largest = 0x1.fffffep127;
  const auto* numbers = reinterpret_cast<const double*>(source);
  for (std::int64_t n = 0; n < count; ++n) {
    const double x = numbers[n * bias.column];
    const bool finite = x - x == 0;
    target[n] = T(!finite ? x : x > largest ? largest : x < -largest ? -largest : x);
  }
}

/// Fills the bias panel (keys, kWidth) of the block, and clears the bits of pairs where it is
/// -infinity. Lanes of rows that see nothing get 0.
template <class T, int kWidth>
void see_bias(const contract::DirectTask& task, const RowGroup<T, kWidth>& group, BlockView& view,
              T* panel) {
  const contract::Source& bias = task.score.bias;
  const Keys keys = keys_of_block(group, view.block);
  const bool shared = is_shared(bias, task.group);
  const T nothing = -T(__builtin_inf());
  T row[kBlockKeys];
  for (int r = 0; r < kWidth; ++r) {
    const bool live = group.live >> r & 1;
    if (!live) {
      for (std::int64_t key = keys.begin; key < keys.end; ++key) panel[key * kWidth + r] = 0;
      continue;
    }
    const RowPlace place = row_place(task, group.first + r);
    if (!shared || (group.live & ((std::uint64_t{1} << r) - 1)) == 0) {
      read_bias<T>(bias, element_at(bias, place.head, place.i, view.block.begin + keys.begin),
                   keys.end - keys.begin, row + keys.begin);
    }
    for (std::int64_t key = keys.begin; key < keys.end; ++key) {
      panel[key * kWidth + r] = row[key];
      view.seen[key] &= ~(std::uint64_t(row[key] == nothing) << r);
    }
  }
}

/// What the group sees of `block`; the bias panel is filled where there is a bias.
template <class T, int kWidth>
void look_at_block(const contract::DirectTask& task, const RowGroup<T, kWidth>& group, Keys block,
                   int tile_keys, T* bias_panel, BlockView& view) {
  view.block = block;
  view.live = group.live;
  view.run_count = 0;
  const Keys some = intersect(group.keys.any, block);
  if (some.begin >= some.end) return;
  const bool one_by_one = task.score.mask.data || task.score.bias.data;
  const Keys all = intersect(group.keys.all, block);
  const bool whole = all.begin == block.begin && all.end == block.end &&
                     (block.end - block.begin) % tile_keys == 0;
  if (whole && !one_by_one) {
    see_all(view);
    return;
  }
  see_intervals(group.lo, group.hi, group.count, view);
  if (task.score.mask.data) {
    see_mask(task, group, view);
    cut_runs(tile_keys, view);
    if (view.run_count == 0) return;
  }
  if (task.score.bias.data) see_bias(task, group, view, bias_panel);
  cut_runs(tile_keys, view);
}

}  // namespace regard::REGARD_ISA

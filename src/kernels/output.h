// Finishing rows: out = O / l, lse = m ln 2 + ln l, and the weights 2^(s - m) / l of a tile.
// A row that sees nothing gives 0 and -infinity whatever its lanes hold.
#pragma once

#include <cstdint>

#include "contract/direct.h"
#include "kernels/row_state.h"
#include "prim/prim.h"

namespace regard::REGARD_ISA {

template <class T, int kWidth>
void store_out(const contract::DirectTask& task, const RowGroup<T, kWidth>& group) {
  for (int r = 0; r < group.count; ++r) {
    const RowPlace place = row_place(task, group.first + r);
    T* out = static_cast<T*>(task.out) + place.head * task.out_head + place.i * task.out_row;
    const bool empty = group.empty(r);
    const T inverse = T(1) / group.l[r];
    for (std::int64_t d = 0; d < task.value_dims; ++d) {
      out[d * task.out_dim] = empty ? T(0) : group.out[d * kWidth + r] * inverse;
    }
  }
}

template <class T, int kWidth>
void store_lse(const contract::DirectTask& task, const RowGroup<T, kWidth>& group) {
  for (int r = 0; r < group.count; ++r) {
    const RowPlace place = row_place(task, group.first + r);
    const bool empty = group.empty(r);
    static_cast<T*>(task.lse)[place.head * task.lse_head + place.i * task.lse_row] =
        empty ? -T(__builtin_inf())
              : T(double(group.m[r]) * kLn2 + log_positive(double(group.l[r])));
  }
}

template <class T>
T* weights_row(const contract::DirectTask& task, std::int64_t row) {
  const RowPlace place = row_place(task, row);
  return static_cast<T*>(task.weights) + place.head * task.weights_head +
         place.item * task.weights_row;
}

/// Zero for the keys in [begin, end) of the group's rows.
template <class T, int kWidth>
void clear_weights(const contract::DirectTask& task, const RowGroup<T, kWidth>& group,
                   std::int64_t begin, std::int64_t end) {
  for (int r = 0; r < group.count; ++r) {
    T* row = weights_row<T>(task, group.first + r);
    for (std::int64_t key = begin; key < end; ++key) row[key * task.weights_key] = 0;
  }
}

/// Keys [begin, end) from `p`, (keys, kWidth), whose first row is key `p_begin`.
template <class T, int kWidth>
void store_weights(const contract::DirectTask& task, const RowGroup<T, kWidth>& group, const T* p,
                   std::int64_t p_begin, std::int64_t begin, std::int64_t end) {
  for (int r = 0; r < group.count; ++r) {
    T* row = weights_row<T>(task, group.first + r);
    const T inverse = T(1) / group.l[r];
    for (std::int64_t key = begin; key < end; ++key) {
      const bool hidden = key < group.lo[r] || key >= group.hi[r];
      row[key * task.weights_key] = hidden ? T(0) : p[(key - p_begin) * kWidth + r] * inverse;
    }
  }
}

}  // namespace regard::REGARD_ISA

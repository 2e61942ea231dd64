// Panels: a group's query rows transposed to (D, rows), so that lanes are rows, and blocks of K and
// V converted from a half type. K and V of the loop's own type are read in place.
#pragma once

#include <cstdint>

#include "contract/direct.h"
#include "kernels/row_state.h"
#include "prim/prim.h"

namespace regard::REGARD_ISA {

inline constexpr int kChunk = 64;  // elements converted at a time; a multiple of every kLanes

/// Stores `used` vectors, `row` numbers from one to the next. All of them go from registers: a loop
/// to a variable end makes the compiler keep the block in memory.
template <class T>
[[gnu::always_inline]] inline void store_block(
    const typename Simd<T>::Vector (&block)[Simd<T>::kLanes], int used, T* to, std::int64_t row) {
  constexpr int lanes = Simd<T>::kLanes;
  if (used == lanes) {
#pragma GCC unroll 16
    for (int i = 0; i < lanes; ++i) store(to + i * row, block[i]);
    return;
  }
  for (int i = 0; i < used; ++i) store(to + i * row, block[i]);
}

/// Writes kLanes rows of `count` numbers, `row_step` apart, as columns of a panel whose rows are
/// kWidth long. What follows a row up to a multiple of kLanes is read and dropped.
template <int kWidth, class T>
void transpose_into(const T* rows, std::int64_t row_step, std::int64_t count, T* panel) {
  constexpr int lanes = Simd<T>::kLanes;
  for (std::int64_t at = 0; at < count; at += lanes) {
    typename Simd<T>::Vector block[lanes];
    for (int i = 0; i < lanes; ++i) block[i] = load(rows + i * row_step + at);
    transpose(block);
    store_block<T>(block, int(smaller(lanes, count - at)), panel + at * kWidth, kWidth);
  }
}

/// The element type of the loop.
template <class T>
inline constexpr contract::Element kElement = sizeof(T) == 8 ? contract::Element::f64
                                                             : contract::Element::f32;

/// A whole vector from memory that need not be aligned.
template <class T>
[[gnu::always_inline]] inline typename Simd<T>::Vector load_anywhere(const std::byte* from) {
  typename Simd<T>::Vector v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}

/// kLanes query rows from lane r0 on, dense and of type T: whole vectors are read where they lie.
/// Only elements of the rows are read.
template <class T, int kWidth>
void pack_dense(const contract::DirectTask& task, const RowGroup<T, kWidth>& group, int r0,
                T factor) {
  constexpr int lanes = Simd<T>::kLanes;
  alignas(64) T tail[lanes] = {};
  const std::byte* row[lanes];
  for (int i = 0; i < lanes; ++i) {
    row[i] = nullptr;
    if (!(group.live >> (r0 + i) & 1)) continue;
    const RowPlace place = row_place(task, group.first + r0 + i);
    row[i] = element_at(task.q, place.head, place.i, 0);
  }
  const auto pack = [&](std::int64_t d, int count, const auto& read) {
    typename Simd<T>::Vector block[lanes];
#pragma GCC unroll 16
    for (int i = 0; i < lanes; ++i) {
      block[i] =
          row[i] ? read(row[i] + d * std::int64_t{sizeof(T)}) * broadcast(factor) : broadcast(T(0));
    }
    transpose(block);
    store_block<T>(block, count, group.queries + d * kWidth + r0, kWidth);
  };
  std::int64_t d = 0;
  for (; d + lanes <= task.dims; d += lanes) {
    pack(d, lanes, [](const std::byte* from) { return load_anywhere<T>(from); });
  }
  if (d == task.dims) return;
  const auto count = std::size_t(task.dims - d);
  pack(d, int(count), [&](const std::byte* from) {
    __builtin_memcpy(tail, from, count * sizeof(T));
    return load(tail);
  });
}

/// kLanes query rows from lane r0 on, of any type at any stride.
template <class T, int kWidth>
void pack_converted(const contract::DirectTask& task, const RowGroup<T, kWidth>& group, int r0,
                    T factor) {
  constexpr int lanes = Simd<T>::kLanes;
  alignas(64) T rows[lanes][kChunk];
  for (std::int64_t d = 0; d < task.dims; d += kChunk) {
    const std::int64_t count = smaller(kChunk, task.dims - d);
    for (int i = 0; i < lanes; ++i) {
      if (!(group.live >> (r0 + i) & 1)) {
        __builtin_memset(rows[i], 0, sizeof(rows[i]));
        continue;
      }
      const RowPlace place = row_place(task, group.first + r0 + i);
      read_elements<T>(task.q.type, element_at(task.q, place.head, place.i, d), task.q.column,
                       count, rows[i]);
      for (std::int64_t n = 0; n < count; ++n) rows[i][n] *= factor;
    }
    transpose_into<kWidth>(rows[0], kChunk, count, group.queries + d * kWidth + r0);
  }
}

/// Writes the group's rows times `factor` into lanes 0.. of its panel (D, kWidth), whole vectors.
/// Lanes of rows that see nothing, and lanes past the rows, are 0: their sums stay harmless.
template <class T, int kWidth>
void pack_queries(const contract::DirectTask& task, const RowGroup<T, kWidth>& group, T factor) {
  const bool dense = task.q.type == kElement<T> && task.q.column == 1;
  for (int r0 = 0; r0 < group.count; r0 += Simd<T>::kLanes) {
    dense ? pack_dense(task, group, r0, factor) : pack_converted(task, group, r0, factor);
  }
}

/// Reads K or V block by block. Only rows that some group sees are touched, and each is converted
/// once for all groups of the work item.
template <class T>
class KeyReader {
 public:
  /// Rows of K or V of one block, in place or converted.
  struct Rows {
    const T* first = nullptr;  ///< row of the block's first key
    std::int64_t row = 0;
    std::int64_t column = 0;
  };

  KeyReader(const contract::Source& source, std::int64_t columns, T* panel)
      : source_(source), columns_(columns), panel_(panel), converts_(source.type != kElement<T>) {}

  void enter(Keys block) {
    block_ = block;
    __builtin_memset(has_, 0, sizeof(has_));
  }

  Rows read(const BlockView& view) {
    if (!converts_) {
      return {reinterpret_cast<const T*>(element_at(source_, 0, block_.begin, 0)), source_.row,
              source_.column};
    }
    for (int n = 0; n < view.run_count; ++n) {
      for (std::int64_t key = view.runs[n].begin; key < view.runs[n].end; ++key) {
        if (has_[key] || view.seen[key] == 0) continue;
        has_[key] = true;
        read_elements<T>(source_.type, element_at(source_, 0, block_.begin + key, 0),
                         source_.column, columns_, panel_ + key * columns_);
      }
    }
    return {panel_, columns_, 1};
  }

 private:
  contract::Source source_;
  std::int64_t columns_;
  T* panel_;
  bool converts_;
  Keys block_;
  bool has_[kBlockKeys];
};

}  // namespace regard::REGARD_ISA

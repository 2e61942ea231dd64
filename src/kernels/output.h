// Finishing rows: out = O / l and lse = m + ln l, with the sink of the row's head in the
// denominator. A row that saw no key gives 0 and -infinity (with a sink, its logit) whatever its
// lanes hold; a row past the end of its sequence gives 0 and -infinity. NaN has one sign and one
// payload: which of two a sum passes on is the compiler's choice, and no two forms of a loop agree.
#pragma once

#include <cstdint>

#include "contract/direct.h"
#include "kernels/panels.h"
#include "kernels/row_state.h"
#include "prim/prim.h"

namespace regard::REGARD_ISA {

inline constexpr double kNaN = __builtin_nan("");

/// x, but kNaN where it is any NaN.
template <class T>
[[gnu::always_inline]] inline T with_one_nan(T x) {
  return x == x ? x : T(kNaN);
}

/// The same for every number of a block. No comparison with NaN is true. One operation a vector
/// where all is finite.
template <class T>
[[gnu::always_inline]] inline void make_one_nan(
    typename Simd<T>::Vector (&block)[Simd<T>::kLanes]) {
  constexpr int chains = 4;
  const auto zero = broadcast(T(0));
  typename Simd<T>::Vector spoiled[chains] = {zero, zero, zero, zero};
  for (int i = 0; i < Simd<T>::kLanes; ++i) {
    spoiled[i % chains] = fma(block[i], zero, spoiled[i % chains]);
  }
  const auto any = (spoiled[0] + spoiled[1]) + (spoiled[2] + spoiled[3]);
  if (equal_lanes(any, zero) == (std::uint64_t{1} << Simd<T>::kLanes) - 1) return;
  for (auto& x : block) x = select(greater(magnitude(x), broadcast(T(-1))), x, broadcast(T(kNaN)));
}

/// What a row's sums come to.
struct RowEnd {
  double lse;
  double share;  ///< of the keys in the denominator: 1 without a sink
};

/// Puts the sink logit z beside keys whose log-sum-exp is `lse`. A z of +infinity gives NaN. Finite
/// ones may be so far apart that their difference is not: it is cut.
inline RowEnd with_sink(double lse, double z) {
  const double exponent = (z - lse) * kLog2E;
  const double x = (exponent < -kFar ? -kFar : exponent > kFar ? kFar : exponent) + (z - z);
  if (x <= 0) {
    const double sink = exp2_of(x);
    return {lse + log_positive(1 + sink), 1 / (1 + sink)};
  }
  const double keys = exp2_of(-x);
  return {z + log_positive(1 + keys), keys / (1 + keys)};
}

inline bool is_logit(double z) {
  return z > -__builtin_inf() || z != z;
}

/// The end of a row that saw no key: a share of 0, NaN where the sink is no number.
inline RowEnd empty_end(bool absent, double z) {
  if (absent || !is_logit(z)) return {-__builtin_inf(), 0};
  return {z + (z - z), z - z};
}

/// Sets `inverse` and `share` of every row. A weight e^(s - m) is multiplied by one after the
/// other: their product may be flushed where the weight times it is not.
template <class T, int kWidth>
void finish_rows(const contract::DirectTask& task, const RowGroup<T, kWidth>& group) {
  const Units units = units_of(task.score);
  for (int r = 0; r < group.count; ++r) {
    const RowPlace place = row_place(task, group.first + r);
    const contract::Source& sinks = task.score.sinks;
    const double z = sinks.data ? head_element<double>(sinks, place.head) : -__builtin_inf();
    const double l = double(group.l[r]);
    RowEnd end{0, 1};
    if (group.empty(r)) {
      end = empty_end(group.absent(r), z);
    } else if (task.lse.data || is_logit(z)) {  // a logarithm is a tenth of a row of 64 keys
      end.lse = double(group.m[r]) * units.natural + log_positive(l);
      if (is_logit(z)) end = with_sink(end.lse, z);
    }
    group.inverse[r] = group.empty(r) ? T(0) : T(1) / group.l[r];
    group.share[r] = T(end.share);
    if (task.lse.data) {
      number_at<T>(task.lse, place.head, place.i) = T(with_one_nan(end.lse));
    }
    if (task.kept.data) {
      T* kept = &number_at<T>(task.kept, place.head, place.i);
      kept[0] = group.m[r];
      kept[task.kept.column] = group.inverse[r];
      kept[2 * task.kept.column] = group.share[r];
    }
  }
}

/// Finished values of kLanes rows from lane r0 on, columns d, d + step and so on, a vector each;
/// those from `end` on repeat the last. Zeros are +0: the sign of a sum that was flushed may come
/// from keys that the row does not see.
template <class T, int kWidth>
[[gnu::always_inline]] inline void finish_columns(
    const RowGroup<T, kWidth>& group, int r0, std::int64_t d, int step, std::int64_t end,
    typename Simd<T>::Vector (&block)[Simd<T>::kLanes]) {
  const auto inverse = load(group.inverse + r0);
  const auto share = load(group.share + r0);
  const auto empty = lanes_of<T>(group.unset >> r0);
  const auto finish = [&](std::int64_t column) __attribute__((always_inline)) {
    const T* out = group.out + column * kWidth + r0;
    return select(empty, share, load(out) * inverse * share + broadcast(T(0)));
  };
  constexpr int lanes = Simd<T>::kLanes;
  if (d + (lanes - 1) * step < end) {
#pragma GCC unroll 16
    for (int i = 0; i < lanes; ++i) block[i] = finish(d + i * step);
  } else {
    for (int i = 0; i < lanes; ++i) block[i] = finish(smaller(d + i * step, end - 1));
  }
  make_one_nan<T>(block);
}

/// The same of kLanes columns, a vector of them for each row.
template <class T, int kWidth>
[[gnu::always_inline]] inline void finish_block(
    const RowGroup<T, kWidth>& group, int r0, std::int64_t d, std::int64_t end,
    typename Simd<T>::Vector (&block)[Simd<T>::kLanes]) {
  finish_columns(group, r0, d, 1, end, block);
  transpose(block);
}

/// Dense rows: whole vectors go straight to the caller's memory. fill(d, block) makes one for each
/// row of `columns` neighbours.
template <class T, int kWidth, class Fill>
[[gnu::always_inline]] inline void store_vectors(const contract::DirectTask& task,
                                                 const RowGroup<T, kWidth>& group, int r0,
                                                 int columns, const Fill& fill) {
  constexpr int lanes = Simd<T>::kLanes;
  using Vector = typename Simd<T>::Vector;
  const int rows = int(smaller(lanes, group.count - r0));
  const auto element = std::int64_t(sizeof(Vector)) / columns;
  std::byte* row[lanes];
  for (int i = 0; i < rows; ++i) {
    const RowPlace place = row_place(task, group.first + r0 + i);
    row[i] = element_at(task.out, place.head, place.i, 0);
  }
  for (std::int64_t d = 0; d < task.value_dims; d += columns) {
    Vector block[lanes];
    fill(d, block);
    const std::int64_t count = smaller(columns, task.value_dims - d);
    if (rows == lanes && count == columns) {
#pragma GCC unroll 16
      for (int i = 0; i < lanes; ++i) {
        __builtin_memcpy(row[i] + d * element, &block[i], sizeof(Vector));
      }
    } else {
      for (int i = 0; i < rows; ++i) {
        __builtin_memcpy(row[i] + d * element, &block[i], std::size_t(count * element));
      }
    }
  }
}

/// Rows of any type at any stride.
template <class T, int kWidth>
void store_converted(const contract::DirectTask& task, const RowGroup<T, kWidth>& group, int r0) {
  constexpr int lanes = Simd<T>::kLanes;
  alignas(64) T rows[lanes][kChunk];
  for (std::int64_t d = 0; d < task.value_dims; d += kChunk) {
    const std::int64_t count = smaller(kChunk, task.value_dims - d);
    for (std::int64_t at = 0; at < count; at += lanes) {
      typename Simd<T>::Vector block[lanes];
      finish_block(group, r0, d + at, task.value_dims, block);
      for (int i = 0; i < lanes; ++i) store(rows[i] + at, block[i]);
    }
    for (int i = 0; i < lanes && r0 + i < group.count; ++i) {
      const RowPlace place = row_place(task, group.first + r0 + i);
      write_elements<T>(task.out.type, rows[i], 1, count,
                        element_at(task.out, place.head, place.i, d), task.out.column);
    }
  }
}

template <class U, class T, int kWidth>
void store_out(const contract::DirectTask& task, const RowGroup<T, kWidth>& group) {
  using Block = typename Simd<T>::Vector[Simd<T>::kLanes];
  constexpr int lanes = Simd<T>::kLanes;
  const std::int64_t end = task.value_dims;
  const bool dense = task.out.column == 1;
  for (int r0 = 0; r0 < group.count; r0 += lanes) {
    if (dense && task.out.type == kElement<T>) {
      store_vectors(task, group, r0, lanes,
                    [&](std::int64_t d, Block& block) { finish_block(group, r0, d, end, block); });
      continue;
    }
    if constexpr (U::kPairs) {
      if (dense && task.out.type == contract::Element::bf16) {
        // Neighbours are rounded to one word before the block is transposed.
        store_vectors(task, group, r0, 2 * lanes, [&](std::int64_t d, Block& block) {
          Block odd;
          finish_columns(group, r0, d, 2, end, block);
          finish_columns(group, r0, d + 1, 2, end, odd);
          for (int i = 0; i < lanes; ++i) block[i] = U::bf16_pairs(block[i], odd[i]);
          transpose(block);
        });
        continue;
      }
    }
    store_converted(task, group, r0);
  }
}

}  // namespace regard::REGARD_ISA

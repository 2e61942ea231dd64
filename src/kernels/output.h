// Finishing rows: out = O / l and lse = m + ln l, with the sink of the row's head in the
// denominator. A row that saw no key gives 0 and -infinity (with a sink, its logit) whatever its
// lanes hold; a row past the end of its sequence gives 0 and -infinity.
#pragma once

#include <cstdint>

#include "contract/direct.h"
#include "kernels/panels.h"
#include "kernels/row_state.h"
#include "prim/prim.h"

namespace regard::REGARD_ISA {

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
    RowEnd end{double(group.m[r]) * units.natural + log_positive(l), 1};
    if (group.empty(r)) {
      end = empty_end(group.absent(r), z);
    } else if (is_logit(z)) {
      end = with_sink(end.lse, z);
    }
    group.inverse[r] = group.empty(r) ? T(0) : T(1) / group.l[r];
    group.share[r] = T(end.share);
    if (task.lse.data) number_at<T>(task.lse, place.head, place.i) = T(end.lse);
    if (task.kept.data) {
      T* kept = &number_at<T>(task.kept, place.head, place.i);
      kept[0] = group.m[r];
      kept[task.kept.column] = group.inverse[r];
      kept[2 * task.kept.column] = group.share[r];
    }
  }
}

template <class T, int kWidth>
void store_out(const contract::DirectTask& task, const RowGroup<T, kWidth>& group) {
  constexpr int lanes = Simd<T>::kLanes;
  alignas(64) T rows[lanes][kChunk];
  for (int r0 = 0; r0 < group.count; r0 += lanes) {
    const auto inverse = load(group.inverse + r0);
    const auto share = load(group.share + r0);
    const auto empty = lanes_of<T>(group.unset >> r0);
    for (std::int64_t d = 0; d < task.value_dims; d += kChunk) {
      const std::int64_t count = smaller(kChunk, task.value_dims - d);
      for (std::int64_t at = 0; at < count; at += lanes) {
        typename Simd<T>::Vector block[lanes];
        for (int i = 0; i < lanes; ++i) {
          const T* out = group.out + (d + smaller(at + i, count - 1)) * kWidth + r0;
          block[i] = select(empty, share, load(out) * inverse * share);
        }
        transpose(block);
        for (int i = 0; i < lanes; ++i) store(rows[i] + at, block[i]);
      }
      for (int i = 0; i < lanes && r0 + i < group.count; ++i) {
        const RowPlace place = row_place(task, group.first + r0 + i);
        write_elements<T>(task.out.type, rows[i], 1, count,
                          element_at(task.out, place.head, place.i, d), task.out.column);
      }
    }
  }
}

}  // namespace regard::REGARD_ISA

// The end of decoded rows: the partials of their chunks merged in ascending order, then as in
// `direct`.
#pragma once

#include <cstdint>

#include "contract/decode.h"
#include "kernels/decode_loops.h"
#include "kernels/decode_pass.h"
#include "kernels/output.h"
#include "prim/prim.h"

namespace regard::REGARD_ISA {

inline constexpr std::int64_t kDecodeChunk = 1024;  // keys of a partial

/// Elements of a partial in front of its O: m, then from kPartialLanes on l.
template <class T>
inline constexpr std::int64_t kPartialLanes = 64 / std::int64_t{sizeof(T)};
template <class T>
inline constexpr std::int64_t kPartialValues = 2 * kPartialLanes<T>;

/// Where the partial of a row and chunk lies: m, l by keys modulo kLanes, then O.
template <class T>
T* partial_of(const contract::DecodeSequence& sequence, std::int64_t chunk, std::int64_t row,
              std::int64_t out_size) {
  return static_cast<T*>(sequence.partials) +
         (chunk * sequence.rows + row) * (kPartialValues<T> + out_size);
}

/// A row's sums over all of its chunks.
template <class T>
struct MergedRow {
  const T* out = nullptr;  ///< null: the row has seen no key
  double m = 0;
  double l = 0;
};

template <class T>
double sum_of_lanes(const T* l) {
  double sum = 0;
  for (int lane = 0; lane < Simd<T>::kLanes; ++lane) sum += double(l[lane]);
  return sum;
}

/// Merges into the first partial that holds anything.
template <class T>
MergedRow<T> merge_chunks(const contract::DecodeSequence& sequence, std::int64_t row,
                          std::int64_t out_size, double exponent) {
  MergedRow<T> merged;
  T* sums = nullptr;
  for (std::int64_t chunk = 0; chunk * kDecodeChunk < sequence.keys; ++chunk) {
    T* partial = partial_of<T>(sequence, chunk, row, out_size);
    const double l = sum_of_lanes(partial + kPartialLanes<T>);
    if (l == 0) continue;
    const double m = double(partial[0]);
    T* out = partial + kPartialValues<T>;
    if (!sums) {
      merged = {out, m, l};
      sums = out;
      continue;
    }
    const double top = m > merged.m ? m : merged.m;
    const auto factor = [&](double reference) {
      const double x = (reference - top) * exponent;
      return x > -kFar ? exp2_of(x) : 0.0;
    };
    const double old_factor = factor(merged.m);
    const double new_factor = factor(m);
    for (std::int64_t d = 0; d < out_size; d += Simd<T>::kLanes) {
      store(sums + d, fma(load(out + d), broadcast(T(new_factor)),
                          load(sums + d) * broadcast(T(old_factor))));
    }
    merged.l = merged.l * old_factor + l * new_factor;
    merged.m = top;
  }
  return merged;
}

/// Writes a row's out: sums times inverse times share, back in the order of the columns. Zeros are
/// +0, as those of `direct`.
template <class T, class Formats>
void write_decoded(const contract::DecodeEnd& end, const DecodeRow& row, const MergedRow<T>& merged,
                   double share) {
  const contract::Target& target = end.sequence->out;
  const RowLoops<T>& loops = Formats::values(end.sequence->v.format, end.value_dims);
  const T inverse = merged.out ? T(1 / merged.l) : T(0);
  alignas(64) T ordered[kOrdered];
  alignas(64) T numbers[kOrdered];
  for (std::int64_t d = 0; d < end.value_dims; d += kOrdered) {
    const std::int64_t padded = smaller(kOrdered, ceil_to(end.value_dims - d, loops.columns));
    for (std::int64_t n = 0; n < padded; ++n) {
      const T value = merged.out ? merged.out[d + n] * inverse * T(share) + T(0) : T(share);
      ordered[n] = with_one_nan(value);
    }
    loops.scatter(ordered, padded, numbers);
    write_elements<T>(target.type, numbers, 1, smaller(kOrdered, end.value_dims - d),
                      element_at(target, row.head, row.i, d), target.column);
  }
}

template <class T, class Formats>
void finish_decoded_row(const contract::DecodeEnd& end, const DecodeRow& row) {
  const contract::DecodeSequence& sequence = *end.sequence;
  const Units units = units_of(sequence.score);
  const std::int64_t out_size =
      ceil_to(end.value_dims, Formats::values(sequence.v.format, end.value_dims).columns);
  const MergedRow<T> merged = merge_chunks<T>(sequence, row.row, out_size, units.exponent);
  const contract::Source& sinks = sequence.score.sinks;
  const double z = sinks.data ? head_element<double>(sinks, row.head) : -__builtin_inf();
  RowEnd finished{0, 1};
  if (!merged.out) {
    finished = empty_end(row.hi < 0, z);
  } else {
    finished.lse = merged.m * units.natural + log_positive(merged.l);
    if (is_logit(z)) finished = with_sink(finished.lse, z);
  }
  if (sequence.lse.data)
    number_at<T>(sequence.lse, row.head, row.i) = T(with_one_nan(finished.lse));
  if (sequence.out.data) write_decoded<T, Formats>(end, row, merged, finished.share);
}

template <class T, class Formats>
void finish_decode(const contract::DecodeEnd& end) noexcept {
  const FlushDenormals flush;
  for (std::int64_t row = end.row_begin; row < end.row_end; ++row) {
    const std::int64_t i = row / end.group;
    const contract::DecodeSequence& sequence = *end.sequence;
    finish_decoded_row<T, Formats>(
        end, {&sequence, row, row % end.group, i, sequence.lo[i], sequence.hi[i]});
  }
}

}  // namespace regard::REGARD_ISA

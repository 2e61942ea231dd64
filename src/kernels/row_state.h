// The state of a group of rows and the rules of its softmax.
//
// A row holds a reference m, l = sum e^(s - m) and O = sum e^(s - m) v. The reference is lazy: it
// is the largest score among the keys the row sees in the first key tile where it sees any, and it
// is raised only when l has passed 2^32 at the end of a key block. Until then a stale m costs no
// precision, since l and O are floating point.
//
// Scores s and m are base-2 exponents: log2(e) is folded into the factor of dot products. With
// softcap, bias or ALiBi they are in natural units instead, and log2(e) comes in after the
// subtraction.
#pragma once

#include <cstddef>
#include <cstdint>

#include "contract/direct.h"
#include "kernels/rows.h"
#include "kernels/visibility.h"
#include "prim/prim.h"

namespace regard::REGARD_ISA {

inline constexpr double kLog2E = 1.44269504088896340736;
/// l above this raises the reference. O stays finite for |v| < 2^95 (f32).
inline constexpr double kRaiseAbove = 0x1p32;
/// The least raise, in base-2 exponents: whatever the block holds, the next one then starts with
/// l <= 2^16 + its keys.
inline constexpr double kLeastRaise = 16;

/// Differences of scores are cut here: their powers have long been 0 or infinity in every type.
inline constexpr double kFar = 4096;

/// In what units scores are.
struct Units {
  double factor = 1;    ///< of a dot product
  double exponent = 1;  ///< of a score difference, for a base-2 exponent
  double natural = 1;   ///< of a score, for natural units
};

/// Scores are more than dot products times a factor.
inline bool has_hook(const contract::Score& score) {
  return score.softcap != 0 || score.bias.data || score.slopes.data;
}

inline Units units_of(const contract::Score& score) {
  if (has_hook(score)) return {score.scale, kLog2E, 1};
  return {score.scale * kLog2E, 1, kLn2};
}

/// Pointers into a worker's scratch for one row group; all arrays hold kWidth rows.
template <class T, int kWidth>
struct RowGroup {
  T* queries;  ///< (D, kWidth), times the factor, or what the unit packs
  T* out;      ///< (Dv rounded up to whole tiles, kWidth)
  T* m;
  T* l;
  T* inverse;    ///< of l; set, as is the next, by finish_rows
  T* share;      ///< of the keys in the denominator: 1 without a sink
  T* entropy;    ///< sum e^(s - m) (s - m), the difference as a base-2 exponent
  T* slopes;     ///< ALiBi
  T* positions;  ///< counted from the start of the current block
  std::int32_t* lo;
  std::int32_t* hi;
  T* top_weights;  ///< (top_count, kWidth)
  std::int32_t* top_keys;
  std::int64_t first = 0;   ///< row of the task's row space in lane 0
  int count = 0;            ///< rows in use
  std::uint64_t live = 0;   ///< bit r: the interval of row r is not empty
  std::uint64_t unset = 0;  ///< bit r: row r has seen no key yet
  GroupKeys keys;
  bool packed = false;   ///< the queries are
  bool started = false;  ///< `out` holds sums; until then it holds anything

  static constexpr std::int64_t kStateValues = 9;  ///< from m to hi; those of lo and hi fit a T

  /// The row in lane r has seen no key; known once all blocks have been visited.
  bool empty(int r) const { return unset >> r & 1; }
  /// The row in lane r is past the end of its sequence.
  bool absent(int r) const { return hi[r] < 0; }

  RowGroup() = default;
  RowGroup(std::byte* base, const contract::DirectLayout& layout, std::int64_t top_count)
      : queries(reinterpret_cast<T*>(base)),
        out(reinterpret_cast<T*>(base + layout.out_bytes)),
        m(reinterpret_cast<T*>(base + layout.state_bytes)),
        l(m + kWidth),
        inverse(l + kWidth),
        share(inverse + kWidth),
        entropy(share + kWidth),
        slopes(entropy + kWidth),
        positions(slopes + kWidth),
        lo(reinterpret_cast<std::int32_t*>(positions + kWidth)),
        hi(lo + kWidth),
        top_weights(reinterpret_cast<T*>(base + layout.top_bytes)),
        top_keys(reinterpret_cast<std::int32_t*>(top_weights + top_count * kWidth)) {}
};

/// Sets `out` to 0 where nothing has started it.
template <class T, int kWidth>
void start_out(RowGroup<T, kWidth>& group, std::int64_t out_rows) {
  if (group.started) return;
  __builtin_memset(group.out, 0, std::size_t(out_rows * kWidth) * sizeof(T));
  group.started = true;
}

/// Sets the rows' intervals and an empty state. Lanes past `count` are rows that see nothing.
template <class T, int kWidth>
void start_rows(RowGroup<T, kWidth>& group, const contract::DirectTask& task) {
  group.live = group.unset = 0;
  __builtin_memset(group.m, 0, sizeof(T) * kWidth * std::size_t(group.kStateValues));
  for (int r = 0; r < group.count; ++r) {
    const RowPlace place = row_place(task, group.first + r);
    group.lo[r] = task.lo[place.i];
    group.hi[r] = task.hi[place.i];
    if (group.lo[r] < group.hi[r]) group.live |= std::uint64_t{1} << r;
    group.unset |= std::uint64_t{1} << r;
    if (task.score.slopes.data) group.slopes[r] = head_element<T>(task.score.slopes, place.head);
  }
  group.keys = group_keys(group.lo, group.hi, group.count);
  for (std::int64_t n = 0; n < task.top_count * kWidth; ++n) {
    group.top_weights[n] = 0;
    group.top_keys[n] = -1;
  }
}

/// Positions of the rows relative to a block, for ALiBi; a distance is exact up to the mantissa of
/// T, and beyond it rounded once.
template <class T, int kWidth>
void place_rows(RowGroup<T, kWidth>& group, const contract::DirectTask& task, Keys block) {
  for (int r = 0; r < group.count; ++r) {
    const std::int64_t i = row_place(task, group.first + r).i;
    group.positions[r] = T(i + task.score.position_offset - block.begin);
  }
}

}  // namespace regard::REGARD_ISA

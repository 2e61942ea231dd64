// The state of a group of rows and the rules of its softmax.
//
// A row holds a reference m (base-2 exponent), l = sum 2^(s - m) and O = sum 2^(s - m) v. The
// reference is lazy: it is the largest score among the keys the row sees in the first key tile
// where it sees any, and it is raised only when l has passed 2^32 at the end of a key block.
// Until then a stale m costs no precision, since l and O are floating point.
#pragma once

#include <cstddef>
#include <cstdint>

#include "contract/direct.h"
#include "kernels/rows.h"
#include "kernels/visibility.h"
#include "prim/prim.h"

namespace regard::REGARD_ISA {

/// l above this raises the reference. O stays finite for |v| < 2^95 (f32).
inline constexpr double kRaiseAbove = 0x1p32;
/// The least raise: whatever the block holds, the next one then starts with l <= 2^16 + its keys.
inline constexpr double kLeastRaise = 16;

/// Pointers into a worker's scratch for one row group; all arrays hold kWidth rows.
template <class T, int kWidth>
struct RowGroup {
  T* queries;  ///< (D, kWidth), scaled
  T* out;      ///< (Dv rounded up to whole tiles, kWidth)
  T* m;
  T* l;
  T* block_lo;  ///< the row's interval counted from the start of the current block, clamped to it
  T* block_hi;
  std::int32_t* lo;
  std::int32_t* hi;
  std::int64_t first = 0;  ///< row of the task's row space in lane 0
  int count = 0;           ///< rows in use
  GroupKeys keys;

  static constexpr std::int64_t kStateValues = 6;

  /// The row in lane r sees no key.
  bool empty(int r) const { return lo[r] >= hi[r]; }

  RowGroup() = default;
  RowGroup(std::byte* base, const contract::DirectLayout& layout)
      : queries(reinterpret_cast<T*>(base)),
        out(reinterpret_cast<T*>(base + layout.out_offset_bytes)),
        m(reinterpret_cast<T*>(base + layout.state_offset_bytes)),
        l(m + kWidth),
        block_lo(l + kWidth),
        block_hi(block_lo + kWidth),
        lo(reinterpret_cast<std::int32_t*>(block_hi + kWidth)),
        hi(lo + kWidth) {}
};

/// Sets the rows' intervals and an empty state. Lanes past `count` are rows that see nothing.
template <class T, int kWidth>
void start_rows(RowGroup<T, kWidth>& group, const contract::DirectTask& task,
                std::int64_t out_rows) {
  for (int r = 0; r < kWidth; ++r) {
    group.m[r] = group.l[r] = 0;
    group.lo[r] = group.hi[r] = 0;
    if (r >= group.count) continue;
    const std::int64_t i = row_place(task, group.first + r).i;
    group.lo[r] = task.lo[i];
    group.hi[r] = task.hi[i];
  }
  group.keys = group_keys(group.lo, group.hi, group.count);
  __builtin_memset(group.out, 0, std::size_t(out_rows * kWidth) * sizeof(T));
}

/// Intervals relative to a block, small enough to be exact in T.
template <class T, int kWidth>
void enter_block(RowGroup<T, kWidth>& group, Keys block) {
  const auto size = std::int32_t(block.end - block.begin);
  const auto begin = std::int32_t(block.begin);
  for (int r = 0; r < kWidth; ++r) {
    const std::int32_t lo = group.lo[r] - begin;
    const std::int32_t hi = group.hi[r] - begin;
    group.block_lo[r] = T(lo < 0 ? 0 : lo > size ? size : lo);
    group.block_hi[r] = T(hi < 0 ? 0 : hi > size ? size : hi);
  }
}

}  // namespace regard::REGARD_ISA

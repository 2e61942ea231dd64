// Pairs hidden one by one: by a mask, and by a bias of -infinity. Both only clear bits of a
// BlockView. The bias of a block is laid out as (keys, rows) on the way, so that lanes are rows.
#pragma once

#include <cstdint>

#include "contract/direct.h"
#include "kernels/panels.h"
#include "kernels/row_state.h"
#include "prim/prim.h"

namespace regard::REGARD_ISA {

/// All rows of a group read the same row of `source`.
inline bool is_shared(const contract::Source& source, std::int64_t group) {
  return source.row == 0 && (source.head == 0 || group == 1);
}

/// Transposes 64 x 64 bits: bit r of word k becomes bit k of word r.
inline void transpose_bits(std::uint64_t* words) {
  std::uint64_t low = 0x00000000ffffffff;
  for (int half = 32; half > 0; half >>= 1, low ^= low << half) {
    for (int k = 0; k < 64; k = ((k | half) + 1) & ~half) {
      const std::uint64_t swapped = (words[k] >> half ^ words[k | half]) & low;
      words[k] ^= swapped << half;
      words[k | half] ^= swapped;
    }
  }
}

inline constexpr int kWords = int(kMostBlockKeys / 64);

/// Words that hold a bit for each of `size` keys.
inline int words_of(std::int64_t size) {
  return int(ceil_to(size, 64) / 64);
}

/// Bits of 64 keys, by word and then by row; of the words that a block of `size` keys needs.
struct RowBits {
  int count;
  std::uint64_t words[kWords][64];

  explicit RowBits(std::int64_t size) : count(words_of(size)) {
    __builtin_memset(words, 0, std::size_t(count) * sizeof(words[0]));
  }
};

/// Hides the pairs whose bit is not set.
inline void keep_only(RowBits& bits, BlockView& view) {
  for (int w = 0; w < bits.count; ++w) {
    transpose_bits(bits.words[w]);
    for (int k = 0; k < 64; ++k) view.seen[64 * w + k] &= bits.words[w][k];
  }
}

/// Bits of the `size` bytes of a mask row, those behind them clear.
inline void row_bits(const std::uint8_t* row, std::int64_t step, std::int64_t size,
                     std::uint64_t (&bits)[kWords]) {
  for (int w = 0; w < words_of(size); ++w) {
    const std::int64_t count = smaller(64, size - 64 * w);
    const std::uint8_t* bytes = row + 64 * w * step;
    std::uint8_t copy[64] = {};
    if (step != 1 || count < 64) {
      for (std::int64_t n = 0; n < count; ++n) copy[n] = bytes[n * step];
      bytes = copy;
    }
    bits[w] = count > 0 ? bytes_set(bytes) : 0;
  }
}

/// Clears the bits of pairs that the mask hides.
template <class T, int kWidth>
void see_mask(const contract::DirectTask& task, const RowGroup<T, kWidth>& group, BlockView& view) {
  const contract::Source& mask = task.score.mask;
  const std::int64_t size = view.block.end - view.block.begin;
  const bool shared = is_shared(mask, task.group);
  RowBits bits(size);
  for (int r = 0; r < (shared ? 1 : group.count); ++r) {
    if (!shared && !(group.live >> r & 1)) continue;
    const RowPlace place = row_place(task, group.first + r);
    std::uint64_t row[kWords];
    row_bits(reinterpret_cast<const std::uint8_t*>(
                 element_at(mask, place.head, place.i, view.block.begin)),
             mask.column, size, row);
    for (int w = 0; w < bits.count; ++w) bits.words[w][r] = row[w];
  }
  if (shared) {
    for (int w = 0; w < bits.count; ++w) {
      for (int r = 1; r < kWidth; ++r) bits.words[w][r] = bits.words[w][0];
    }
  }
  keep_only(bits, view);
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

/// Clears the bits of pairs where the bias is -infinity.
template <class T, int kWidth>
void see_bias(const contract::DirectTask& task, const RowGroup<T, kWidth>& group, BlockView& view) {
  constexpr int lanes = Simd<T>::kLanes;
  const contract::Source& bias = task.score.bias;
  const std::int64_t size = view.block.end - view.block.begin;
  const bool shared = is_shared(bias, task.group);
  const auto nothing = broadcast(-T(__builtin_inf()));
  alignas(64) T row[kMostBlockKeys] = {};
  RowBits bits(size);
  std::uint64_t first[kWords];
  bool is_read = false;
  for (int r = 0; r < group.count; ++r) {
    if (!(group.live >> r & 1)) continue;
    std::uint64_t words[kWords] = {};
    if (!shared || !is_read) {
      const RowPlace place = row_place(task, group.first + r);
      read_bias<T>(bias, element_at(bias, place.head, place.i, view.block.begin), size, row);
      for (std::int64_t key = 0; key < size; key += lanes) {
        words[key / 64] |= equal_lanes(load(row + key), nothing) << (key % 64);
      }
      for (int w = 0; w < bits.count; ++w) first[w] = words[w];
      is_read = true;
    }
    for (int w = 0; w < bits.count; ++w) bits.words[w][r] = ~(shared ? first[w] : words[w]);
  }
  keep_only(bits, view);
}

/// Fills the bias panel (keys, kWidth) from the first to the last key that some row sees. Lanes of
/// rows that see nothing get 0.
template <class T, int kWidth>
void fill_bias(const contract::DirectTask& task, const RowGroup<T, kWidth>& group,
               const BlockView& view, T* panel) {
  constexpr int lanes = Simd<T>::kLanes;
  const contract::Source& bias = task.score.bias;
  const std::int64_t begin = floor_to(view.runs[0].begin, lanes);
  const std::int64_t end =
      smaller(view.runs[view.run_count - 1].end, view.block.end - view.block.begin);
  // Beside a power of two, all rows would share a few sets of the cache.
  constexpr int row = int(kMostBlockKeys) + 64 / int(sizeof(T));
  alignas(64) T rows[lanes][row];
  for (int r0 = 0; r0 < kWidth; r0 += lanes) {
    for (int i = 0; i < lanes; ++i) {
      if (!(group.live >> (r0 + i) & 1)) {
        __builtin_memset(rows[i], 0, sizeof(rows[i]));
        continue;
      }
      const RowPlace place = row_place(task, group.first + r0 + i);
      read_bias<T>(bias, element_at(bias, place.head, place.i, view.block.begin + begin),
                   end - begin, rows[i] + begin);
    }
    transpose_into<kWidth>(rows[0] + begin, row, end - begin, panel + begin * kWidth + r0);
  }
}

/// What the group sees of `block`, of which it sees some before keys are hidden one by one; the
/// bias panel is filled where there is a bias.
template <class T, int kWidth>
void look_at_block(const contract::DirectTask& task, const RowGroup<T, kWidth>& group, Keys block,
                   int tile_keys, T* bias_panel, BlockView& view) {
  view.block = block;
  view.live = group.live;
  view.run_count = 0;
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
  if (task.score.bias.data) see_bias(task, group, view);
  cut_runs(tile_keys, view);
  if (task.score.bias.data && view.run_count > 0) fill_bias(task, group, view, bias_panel);
}

}  // namespace regard::REGARD_ISA

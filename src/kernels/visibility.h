// Which keys the rows of a group see. Every row has one interval [lo, hi); a mask or a bias of
// -infinity may hide more (kernels/hiding.h). For each key of a block one bit a row says whether
// the row sees it; from these bits follow the tiles to skip, those that all rows see whole, and
// those where hidden pairs are masked. Keys that no row sees are not touched.
#pragma once

#include <cstdint>

namespace regard::REGARD_ISA {

// Keys of a block. P of 192 x 48 f32 is 36 KB: it stays in L2. A tile unit, for which O is loaded
// and stored once a block, gains a tenth from 512 (docs/benchmarking.md).
inline constexpr std::int64_t kBlockKeys = 192;
inline constexpr std::int64_t kTileBlockKeys = 512;
inline constexpr std::int64_t kMostBlockKeys = kTileBlockKeys;
static_assert(kBlockKeys % 64 == 0 && kTileBlockKeys % 64 == 0);

struct Keys {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

[[gnu::always_inline]] constexpr std::int64_t smaller(std::int64_t a, std::int64_t b) {
  return a < b ? a : b;
}
[[gnu::always_inline]] constexpr std::int64_t larger(std::int64_t a, std::int64_t b) {
  return a > b ? a : b;
}
[[gnu::always_inline]] inline Keys intersect(Keys a, Keys b) {
  return {larger(a.begin, b.begin), smaller(a.end, b.end)};
}
[[gnu::always_inline]] inline std::int64_t floor_to(std::int64_t value, std::int64_t step) {
  return value / step * step;
}
[[gnu::always_inline]] inline std::int64_t ceil_to(std::int64_t value, std::int64_t step) {
  return (value + step - 1) / step * step;
}

/// Over the rows of a group that see any key.
struct GroupKeys {
  Keys any{0, 0};  ///< from the first to the last key that some row sees
  Keys all{0, 0};  ///< keys that every row sees; may be empty or inverted
};

/// Ranges of empty rows (lo >= hi) do not count: what such rows compute is never stored.
inline GroupKeys group_keys(const std::int32_t* lo, const std::int32_t* hi, int rows) {
  constexpr std::int64_t none = std::int64_t{1} << 32;
  GroupKeys keys{{none, 0}, {0, none}};
  for (int r = 0; r < rows; ++r) {
    if (lo[r] >= hi[r]) continue;
    keys.any = {smaller(keys.any.begin, lo[r]), larger(keys.any.end, hi[r])};
    keys.all = {larger(keys.all.begin, lo[r]), smaller(keys.all.end, hi[r])};
  }
  if (keys.any.end == 0) keys.any = keys.all = {0, 0};
  return keys;
}

/// Some row sees some of these keys, before any is hidden one by one.
inline bool sees_any(const GroupKeys& keys, Keys block) {
  const Keys some = intersect(keys.any, block);
  return some.begin < some.end;
}

/// Whole tiles one after another; every live row sees all keys of a full run.
struct Run {
  std::int64_t begin = 0;  ///< counted from the start of the block
  std::int64_t end = 0;
  bool full = false;
};

/// A block of keys as one row group sees it.
struct BlockView {
  static constexpr int kMostRuns = int(kMostBlockKeys / 4);

  Keys block;
  std::uint64_t live = 0;                  ///< bit r: row r has an interval that is not empty
  std::uint64_t seen[kMostBlockKeys + 1];  ///< bit r: row r sees the key
  Run runs[kMostRuns];
  int run_count = 0;
};

/// Sets `seen` from intervals: a row's bit flips at its first key and behind its last.
inline void see_intervals(const std::int32_t* lo, const std::int32_t* hi, int rows,
                          BlockView& view) {
  const std::int64_t size = view.block.end - view.block.begin;
  const std::int64_t end = ceil_to(size, 64);
  __builtin_memset(view.seen, 0, std::size_t(end + 1) * sizeof(view.seen[0]));
  for (int r = 0; r < rows; ++r) {
    const std::int64_t first = larger(lo[r] - view.block.begin, 0);
    const std::int64_t last = smaller(hi[r] - view.block.begin, size);
    if (first >= last) continue;
    view.seen[first] ^= std::uint64_t{1} << r;
    view.seen[last] ^= std::uint64_t{1} << r;
  }
  for (std::int64_t key = 1; key <= end; ++key) view.seen[key] ^= view.seen[key - 1];
}

/// Cuts the block into runs of tiles; tiles that no row sees are left out.
inline void cut_runs(int tile_keys, BlockView& view) {
  view.run_count = 0;
  for (std::int64_t t = 0; t < view.block.end - view.block.begin; t += tile_keys) {
    std::uint64_t some = 0;
    std::uint64_t every = ~std::uint64_t{0};
    for (int i = 0; i < tile_keys; ++i) {
      some |= view.seen[t + i];
      every &= view.seen[t + i];
    }
    if (some == 0) continue;
    const bool full = every == view.live;
    Run* last = view.run_count > 0 ? &view.runs[view.run_count - 1] : nullptr;
    if (last && last->end == t && last->full == full) {
      last->end += tile_keys;
    } else {
      view.runs[view.run_count++] = {t, t + tile_keys, full};
    }
  }
}

/// Tiles that some row sees.
inline std::int64_t count_tiles(const BlockView& view, int tile_keys) {
  std::int64_t keys = 0;
  for (int n = 0; n < view.run_count; ++n) keys += view.runs[n].end - view.runs[n].begin;
  return keys / tile_keys;
}

/// The view of a block that every live row sees whole.
inline void see_all(BlockView& view) {
  const std::int64_t size = view.block.end - view.block.begin;
  for (std::int64_t key = 0; key < size; ++key) view.seen[key] = view.live;
  view.runs[0] = {0, size, true};
  view.run_count = 1;
}

}  // namespace regard::REGARD_ISA

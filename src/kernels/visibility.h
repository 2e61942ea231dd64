// Which keys the rows of a group see: every row has one interval [lo, hi). A key that some live
// row does not see is hidden from it by a lane mask; keys that no row sees are not touched.
#pragma once

#include <cstdint>

namespace regard::REGARD_ISA {

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

/// A block of keys cut into tiles on the sequence's own grid: [begin, full.begin) and
/// [full.end, end) hold tiles that some row sees in part, `full` those that every row sees whole.
struct BlockTiles {
  std::int64_t begin = 0;
  Keys full;
  std::int64_t end = 0;
  Keys readable;  ///< keys of the block that may be touched
};

inline BlockTiles block_tiles(const GroupKeys& keys, Keys block, int tile_keys) {
  BlockTiles tiles;
  tiles.readable = intersect(keys.any, block);
  if (tiles.readable.begin >= tiles.readable.end) return {};
  tiles.begin = floor_to(tiles.readable.begin, tile_keys);
  tiles.end = ceil_to(tiles.readable.end, tile_keys);
  const Keys all = intersect(keys.all, block);
  tiles.full = {ceil_to(larger(all.begin, 0), tile_keys), floor_to(larger(all.end, 0), tile_keys)};
  if (tiles.full.begin >= tiles.full.end) tiles.full = {tiles.end, tiles.end};
  return tiles;
}

}  // namespace regard::REGARD_ISA

// Where the rows of a tile are read: in place by whole vectors where a loader knows the format,
// into the next row where the head does not fill them; else copied first, 16 keys at a time, as
// stored and padded with zeros, or converted to T. And where the rows lie that are needed soon.
#pragma once

#include <cstdint>

#include "contract/decode.h"
#include "kernels/decode_rows.h"

namespace regard::REGARD_ISA {

/// How K or V of a task is read.
struct RowReader {
  FormatShape shape;        ///< of the rows in memory
  bool converts = false;    ///< to T, since no loader knows the format
  bool in_place = false;    ///< rows are dense
  std::int64_t beyond = 0;  ///< bytes that whole vectors read past the end of a row in place
  std::int64_t columns = 0;
  std::int64_t padded = 0;     ///< columns, up to whole chunks of the loader
  std::byte* panel = nullptr;  ///< a block of rows, copied or converted
  std::byte* scales = nullptr;

  std::int64_t panel_step() const {
    return converts ? padded * std::int64_t{sizeof(float)}
                    : ceil_to(dense_row_bytes(shape, padded), 64);
  }
  std::int64_t panel_scale_step() const { return ceil_to(scale_row_bytes(shape, padded), 16); }
};

/// A key's page in memory and its row there.
struct KeyPlace {
  std::int64_t page = 0, row = 0;
};

inline KeyPlace place_of(const contract::DecodeSequence& sequence, std::int64_t key) {
  if (!sequence.pages) return {0, key};
  return {sequence.pages[key / sequence.page_keys], key % sequence.page_keys};
}

/// The place of the tile at `key`, from that of the one before it: a division takes as long as the
/// products of a key.
inline KeyPlace next_tile(const contract::DecodeSequence& sequence, KeyPlace before,
                          std::int64_t key) {
  const std::int64_t row = before.row + kTileKeys;
  if (!sequence.pages || row < sequence.page_keys) return {before.page, row};
  return place_of(sequence, key);
}

inline RowAt row_at(const contract::KeyRows& rows, KeyPlace place) {
  return {rows.data + place.page * rows.page + place.row * rows.row,
          rows.scales + place.page * rows.scale_page + place.row * rows.scale_row};
}

/// Tile `index` of a block, from `key` on, of whose rows those in the lower half of `seen` are
/// read; bit 16: the row after them may be, too. It is written field by field where the loops read
/// it: a whole one that is returned would be copied before its parts have arrived, which stalls.
template <class T>
void read_tile(const contract::KeyRows& rows, const contract::DecodeSequence& sequence,
               const RowReader& reader, std::int64_t key, KeyPlace place, std::uint32_t seen,
               int index, TileRows& tile) {
  const auto goes_on = [&] {
    const bool page_ends = sequence.pages && (key + kTileKeys) % sequence.page_keys == 0;
    return (seen >> kTileKeys & 1) && !page_ends;
  };
  const bool in_place = reader.in_place && (reader.beyond == 0 || goes_on());
  seen &= 0xffff;
  if (seen == 0) return;
  if (in_place && seen == 0xffff) {
    const RowAt first = row_at(rows, place);
    tile.data = first.data;
    tile.step = rows.row;
    tile.scales = first.scales;
    tile.scale_step = rows.scale_row;
    return;
  }
  const std::int64_t step = reader.panel_step();
  const std::int64_t scale_step = reader.panel_scale_step();
  tile.data = reader.panel + index * kTileKeys * step;
  tile.step = step;
  tile.scales = reader.scales + index * kTileKeys * scale_step;
  tile.scale_step = scale_step;
  for (int n = 0; n < kTileKeys; ++n) {
    std::byte* target = reader.panel + (index * kTileKeys + n) * step;
    std::byte* scales = reader.scales + (index * kTileKeys + n) * scale_step;
    if (!(seen >> n & 1) || reader.padded != reader.columns) {
      __builtin_memset(target, 0, std::size_t(step));
      // Zero bytes at an address without memory are a masked store that takes 150 ns.
      if (scale_step > 0) __builtin_memset(scales, 0, std::size_t(scale_step));
    }
    if (!(seen >> n & 1)) continue;
    const RowAt row = row_at(rows, place_of(sequence, key + n));
    if (reader.converts) {
      convert_row(rows, row, reader.columns, reinterpret_cast<T*>(target));
    } else {
      copy_row(rows, reader.shape, row, reader.columns, target, scales);
    }
  }
}

/// K or V of one head of a task.
struct HeadRows {
  std::int64_t head = 0;
  const contract::KeyRows contract::DecodeSequence::*which = &contract::DecodeSequence::k;
};

inline constexpr std::int64_t kStreamBytes = 16384;  // until the CPU's own streams keep ahead

/// Goes on from the end of a block: to the next head, from the last one's keys to the first one's
/// values, from the last one's values to the first one's keys of the next block.
inline void enter_next(const contract::DecodeTask& task, Keys block, HeadRows& rows,
                       std::int64_t& key) {
  using contract::DecodeSequence;
  const bool last = rows.head + 1 == task.heads;
  const bool values = rows.which == &DecodeSequence::v;
  if (!(last && values)) key -= block.end - block.begin;
  if (last) rows.which = values ? &DecodeSequence::k : &DecodeSequence::v;
  rows.head = last ? 0 : rows.head + 1;
}

/// Where the rows lie that are needed soon, and how many of their lines to ask for. One query reads
/// its rows from end to end, which the CPU's own streams may follow: one line in four then keeps
/// them ahead. In the first bytes of a page of which one head is read at a time they have to find
/// it first, and several queries compute so long on a line that they fall behind.
inline void look_ahead(const contract::DecodeTask& task, HeadRows rows, Keys block,
                       std::int64_t key, KeyPlace there, int width, TileRows& tile) {
  const contract::DecodeSequence* sequence = &task.sequences[rows.head * task.head_step];
  key += kKeysAhead;
  there.row += kKeysAhead;
  const bool leaves = key >= block.end && task.heads > 1;
  if (leaves) enter_next(task, block, rows, key);
  // The keys behind the task's are most likely the next one's.
  if (key + kTileKeys > sequence->keys) return;
  if (leaves || (sequence->pages && there.row >= sequence->page_keys)) {
    sequence = &task.sequences[rows.head * task.head_step];
    there = place_of(*sequence, key);
  }
  tile.ahead = row_at(sequence->*rows.which, there).data - tile.data;
  tile.sparse = width == 1 && !task.requests.each_line &&
                (task.heads > 1 || there.row * tile.step >= kStreamBytes);
}

}  // namespace regard::REGARD_ISA

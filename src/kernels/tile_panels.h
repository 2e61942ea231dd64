// K and V as a tile unit reads them.
#pragma once

#include <cstdint>

#include "contract/direct.h"
#include "kernels/pairs.h"
#include "kernels/panels.h"
#include "kernels/visibility.h"
#include "prim/prim.h"
#include "prim/tile_operand.h"

namespace regard::REGARD_ISA {

/// Rows of K. A tile is read in place where all its keys are seen and rows lie one behind the
/// other, fill whole chunks and start on lines of the cache; else from a panel where rows that no
/// group has seen, and columns past D, are 0. Rows across lines cost the loop a fifth.
class TiledKeys {
 public:
  struct Rows {
    const std::uint16_t* first = nullptr;  ///< for full tiles, row of the block's first key
    std::int64_t row = 0;
    const std::uint16_t* panel = nullptr;  ///< for partial ones
    std::int64_t panel_row = 0;
  };

  TiledKeys(const contract::Source& source, std::int64_t columns, std::uint16_t* panel)
      : source_(source),
        columns_(columns),
        width_(ceil_to(columns, kTileTerms)),
        panel_(panel),
        copies_(source.column != 1 || width_ != columns || source.row != columns ||
                reinterpret_cast<std::uintptr_t>(source.data) % 64 != 0) {}

  void enter(Keys block) {
    block_ = block;
    __builtin_memset(has_, 0, sizeof(has_));
  }

  Rows read(const BlockView& view) {
    for (int n = 0; n < view.run_count; ++n) {
      const Run& run = view.runs[n];
      if (run.full && !copies_) continue;
      for (std::int64_t key = run.begin; key < run.end; ++key) {
        const Held wanted = view.seen[key] != 0 ? Held::row : Held::zeros;
        if (has_[key] < wanted) write_row(key, wanted);
      }
    }
    if (copies_) return {panel_, width_, panel_, width_};
    return {halves_at(source_, 0, block_.begin, 0), source_.row, panel_, width_};
  }

 private:
  enum class Held : std::uint8_t { nothing, zeros, row };

  void write_row(std::int64_t key, Held wanted) {
    std::uint16_t* row = panel_ + key * width_;
    const std::int64_t count = wanted == Held::row ? columns_ : 0;
    if (count > 0) {
      convert_each(halves_at(source_, 0, block_.begin + key, 0), source_.column, count, row, 1,
                   [](std::uint16_t x) { return x; });
    }
    __builtin_memset(row + count, 0, std::size_t(width_ - count) * sizeof(*row));
    has_[key] = wanted;
  }

  contract::Source source_;
  std::int64_t columns_;
  std::int64_t width_;
  std::uint16_t* panel_;
  bool copies_;
  Keys block_;
  Held has_[kTileBlockKeys];
};

/// V transposed, chunk by chunk of kTileTerms keys: (chunk, column, key of the chunk). Keys that no
/// group has seen are 0, and so is what is not finite. The panel has room for a chunk of pairs
/// behind it.
class TransposedValues {
 public:
  struct Rows {
    const std::uint16_t* first = nullptr;
    const bool* odd = nullptr;  ///< as in PairedKeys
  };

  TransposedValues(const contract::Source& source, std::int64_t columns, std::uint16_t* panel)
      : pairs_(source, columns, ceil_to(columns, kTileSide)),
        panel_(panel),
        words_(reinterpret_cast<std::uint32_t*>(panel + kTileBlockKeys * pairs_.width())) {}

  void enter(Keys block) {
    pairs_.enter(block);
    __builtin_memset(has_, 0, sizeof(has_));
    __builtin_memset(seen_, 0, sizeof(seen_));
  }

  Rows read(const BlockView& view) {
    for (int n = 0; n < view.run_count; ++n) {
      for (std::int64_t key = view.runs[n].begin; key < view.runs[n].end; key += kTileTerms) {
        std::uint32_t wanted = ~std::uint32_t{0};
        if (!view.runs[n].full) {
          wanted = seen_[key / kTileTerms];
          for (int i = 0; i < kTileTerms; ++i) {
            wanted |= std::uint32_t{view.seen[key + i] != 0} << i;
          }
        }
        if (has_[key / kTileTerms] && seen_[key / kTileTerms] == wanted) continue;
        write_chunk(key, wanted);
      }
    }
    return {panel_, pairs_.odd()};
  }

 private:
  void write_chunk(std::int64_t key, std::uint32_t wanted) {
    has_[key / kTileTerms] = true;
    seen_[key / kTileTerms] = wanted;
    if (~wanted == 0 && pairs_.dense() && write_finite(key)) return;
    for (int i = 0; i < kTileSide; ++i) {
      pairs_.write(key + 2 * i, wanted >> 2 * i & 3, words_ + i * pairs_.width());
    }
    transpose_words(words_, pairs_.width(), pairs_.width(), chunk_of(key));
  }

  /// A chunk of dense rows, a few columns at a time; false if some number is not finite.
  bool write_finite(std::int64_t key) {
    LargestHalves largest;
    alignas(64) std::uint32_t words[kTileSide][kHalves];
    for (std::int64_t d = 0; d < pairs_.width(); d += kHalves) {
      const std::int64_t count = smaller(kHalves, pairs_.columns() - d);
      for (int i = 0; i < kTileSide; ++i) {
        pairs_.interleave(key + 2 * i, d, count, words[i], largest);
      }
      transpose_words(words[0], kHalves, smaller(kHalves, pairs_.width() - d),
                      chunk_of(key) + d * kTileSide);
    }
    return largest.are_finite();
  }

  /// kTileSide rows of words, `row` apart, to `count` rows of as many.
  [[gnu::always_inline]] static inline void transpose_words(const std::uint32_t* words,
                                                            std::int64_t row, std::int64_t count,
                                                            float* to) {
    constexpr int lanes = Simd<float>::kLanes;
    const auto* from = reinterpret_cast<const float*>(words);
    for (int i = 0; i < kTileSide; i += lanes) {
      transpose_into<kTileSide>(from + i * row, row, count, to + i);
    }
  }

  float* chunk_of(std::int64_t key) {
    return reinterpret_cast<float*>(panel_ + key * pairs_.width());
  }

  PairWriter pairs_;
  std::uint16_t* panel_;
  std::uint32_t* words_;
  bool has_[kTileBlockKeys / kTileTerms];
  std::uint32_t seen_[kTileBlockKeys / kTileTerms];
};

}  // namespace regard::REGARD_ISA

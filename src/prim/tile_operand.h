// Tiles in memory, for the tile units.
#pragma once

#include <cstdint>

namespace regard::REGARD_ISA {

/// Rows and columns of words of a tile; a row of halves has twice as many.
inline constexpr int kTileSide = 16;
/// Terms of a sum that one tile holds: the halves of a row of words.
inline constexpr int kTileTerms = 2 * kTileSide;

/// 16 x 16 words, or what a row of them holds: tiles of one operand of a product.
struct TileOperand {
  const std::uint16_t* first;  ///< row 0 of the first tile
  std::int64_t row;            ///< all steps in halves: to the next row,
  std::int64_t tile;           ///< to the next tile beside it, and
  std::int64_t chunk;          ///< to the tile that meets the next 32 terms of the sums
};

/// A block of sums, tiles beside and below one another; a row of it is `row` numbers from the next.
struct TileSums {
  float* at = nullptr;
  std::int64_t row = 0;
};

/// How a product begins: each register first gives what it holds, then takes what it starts from.
struct TileStart {
  TileSums held;  ///< where the sums of the product before, of the same shape, go; null: nowhere
  TileSums from;  ///< null: 0
};

/// Nothing to do beside the products.
struct NothingBeside {
  [[gnu::always_inline]] void operator()(int) const {}
};

}  // namespace regard::REGARD_ISA

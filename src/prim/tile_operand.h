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

}  // namespace regard::REGARD_ISA

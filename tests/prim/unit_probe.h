// Units that multiply bf16, applied to arrays, so that a test in baseline code can call every
// ISA's.
#pragma once

#include <cstdint>

namespace regard::test {

/// Tiles in memory: element (r, n) of tile (t, chunk), steps in halves.
struct TilePlace {
  const std::uint16_t* first;
  std::int64_t row, tile, chunk;
};

/// c = or += a b: `rows` tiles of a (16 rows of 32 halves) times `columns` tiles of b (16 rows of
/// 16 pairs), 2 x 2, 1 x 2 or 1 x 4, over `chunks` of both: the first of them at once, the others
/// added to what the registers hold.
struct TileProduct {
  TilePlace a, b;
  std::int64_t chunks;
  bool add;
  float* c;
  std::int64_t c_row;
  int rows, columns;
  std::int64_t first_chunks;
  bool held;  ///< the next product stores the sums
};

/// Two lists of 16 to 16 words of two halves, the first in the low ones; 64-byte aligned. Null: the
/// ISA has no such unit.
using PairProbe = void (*)(const float* low, const float* high, std::uint32_t* words);

struct TileProbe {
  void (*multiply)(const TileProduct& product) = nullptr;  ///< null: the ISA has no such unit
  PairProbe pairs = nullptr;                               ///< rounded to bf16
  PairProbe rough_exp2 = nullptr;                          ///< 2^x as bf16
};

struct DotProbe {
  /// c[n] += pair . b[n] for n in [0, 16), arrays 64-byte aligned; null: the ISA has none.
  void (*dot)(const std::uint16_t* pair, const std::uint32_t* b, float* c) = nullptr;
  PairProbe pairs = nullptr;
  PairProbe rough_exp2 = nullptr;
};

struct UnitProbes {
  TileProbe emulated;
  TileProbe tiles;  ///< in hardware
  DotProbe dot;
};

/// Those of the ISA that this program runs on.
const UnitProbes& unit_probes();

}  // namespace regard::test

// The shapes that tests and benches share: sizes 0 and 1, one below, at and one above the tile
// edges, primes, and every head size and group that the design names.
#pragma once

#include <array>
#include <cstdint>
#include <ostream>

#include "regard/tensor.h"

namespace regard::test {

/// Lengths around the edges of vectors (4, 8, 16), key tiles (8), row tiles (up to 48) and key
/// blocks (192), with primes between.
inline constexpr std::int64_t kLengths[] = {0,  1,  2,  3,  4,   5,   7,   8,   9,   13,  15, 16,
                                            17, 23, 24, 25, 31,  32,  33,  47,  48,  49,  63, 64,
                                            65, 95, 96, 97, 127, 128, 129, 191, 192, 193, 257};
inline constexpr std::int64_t kHeadSizes[] = {1,  2,  3,   31,  32,  40,  59, 64,
                                              80, 96, 111, 128, 192, 256, 576};
/// Query heads per KV head.
inline constexpr std::int64_t kGroups[] = {1, 2, 3, 8};

struct ProblemShape {
  std::int64_t batch, kv_heads, group, sq, skv, d, dv;

  constexpr std::int64_t heads() const { return kv_heads * group; }
  constexpr Shape q() const { return {batch, heads(), sq, d}; }
  constexpr Shape k() const { return {batch, kv_heads, skv, d}; }
  constexpr Shape v() const { return {batch, kv_heads, skv, dv}; }
  constexpr Shape out() const { return {batch, heads(), sq, dv}; }
  constexpr Shape lse() const { return {batch, heads(), sq, 1}; }
  constexpr Shape weights() const { return {batch, heads(), sq, skv}; }
};

inline std::ostream& operator<<(std::ostream& stream, const ProblemShape& s) {
  return stream << "B=" << s.batch << " Hkv=" << s.kv_heads << " group=" << s.group
                << " Sq=" << s.sq << " Skv=" << s.skv << " D=" << s.d << " Dv=" << s.dv;
}

/// Small enough to compare every row with the oracle.
inline constexpr ProblemShape kShapes[] = {
    // Nothing to do, in each way.
    {0, 1, 1, 4, 4, 8, 8},
    {1, 0, 1, 4, 4, 8, 8},
    {1, 2, 1, 0, 4, 8, 8},
    {1, 2, 1, 4, 0, 8, 8},
    // One of everything, and one of each.
    {1, 1, 1, 1, 1, 1, 1},
    {1, 1, 1, 1, 17, 64, 64},
    {1, 1, 1, 17, 1, 64, 64},
    {2, 2, 1, 5, 7, 1, 1},
    // Tile edges.
    {1, 1, 1, 7, 7, 32, 32},
    {1, 1, 1, 8, 8, 32, 32},
    {1, 1, 1, 9, 9, 32, 32},
    {1, 1, 1, 15, 16, 64, 64},
    {1, 1, 1, 16, 17, 64, 64},
    {1, 1, 1, 17, 15, 64, 64},
    {1, 2, 1, 31, 33, 40, 40},
    {1, 1, 1, 33, 31, 80, 80},
    {1, 1, 1, 47, 63, 96, 96},
    {1, 1, 1, 48, 64, 128, 128},
    {1, 1, 1, 49, 65, 64, 64},
    {1, 1, 1, 95, 127, 32, 32},
    {1, 1, 1, 96, 128, 64, 64},
    {1, 1, 1, 97, 129, 64, 64},
    // Primes, and head sizes that fill no vector.
    {3, 1, 1, 13, 29, 2, 2},
    {1, 1, 1, 23, 101, 3, 3},
    {1, 3, 1, 37, 53, 31, 31},
    {1, 1, 1, 61, 113, 59, 59},
    {1, 1, 1, 11, 19, 111, 111},
    // Large heads, and values of another size than keys.
    {1, 1, 1, 21, 40, 192, 192},
    {1, 1, 1, 19, 35, 256, 256},
    {1, 1, 1, 9, 33, 576, 512},
    {1, 1, 1, 18, 41, 3, 5},
    {1, 2, 1, 18, 41, 192, 128},
    {2, 1, 1, 35, 20, 1, 64},
    // Groups.
    {2, 2, 2, 9, 33, 64, 64},
    {1, 2, 3, 17, 49, 40, 59},
    {1, 1, 8, 1, 257, 128, 128},
    {2, 1, 8, 13, 31, 32, 32},
    // Few queries over many keys, and the reverse.
    {1, 2, 1, 3, 1031, 64, 64},
    {1, 1, 1, 521, 5, 32, 32},
    {1, 1, 1, 193, 257, 64, 64},
};

}  // namespace regard::test

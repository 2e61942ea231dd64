// P times V: O of every row of a pass grows by the sum of p v over a tile of keys, in registers for
// as many vectors of columns as there is room for.
#pragma once

#include <cstdint>

#include "kernels/decode_pass.h"
#include "prim/prim.h"

namespace regard::REGARD_ISA {

/// A block of weights and rows of V.
template <class T>
struct Weighted {
  const TileRows (&tiles)[kTiles];
  const T* weights = nullptr;           ///< (kDecodeBlock, width) as the scores lie
  const std::uint64_t* seen = nullptr;  ///< of each row
  T* out = nullptr;                     ///< (width, vectors)
  std::int64_t vectors = 0;
};

/// Vectors [v, v + kVectors) of the columns of tile t. Where some row does not see some key, hidden
/// pairs are left out: 0 times what stands there need not be 0. A tile's keys are summed apart: in
/// one chain of 1,024 an f32 would lose digits.
template <class T, class Rows, int kWidth, int kRows, int kVectors, bool kWhole>
void add_columns(const Weighted<T>& block, int t, int first, std::int64_t v,
                 Requests<kWidth>& requests) {
  constexpr int lanes = Simd<T>::kLanes;
  constexpr int keys = keys_per_vector<T>(kWidth);
  const TileRows& tile = block.tiles[t];
  const T* weights = block.weights + t * kTileKeys * kWidth + first * keys;
  const std::int64_t bytes = tile.row_bytes * kRows * kVectors / (kWidth * block.vectors);
  typename Simd<T>::Vector sums[kRows][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int n = 0; n < kVectors; ++n) sums[r][n] = broadcast(T(0));
  }
  for (int k = 0; k < kTileKeys; k += keys) {
    const T* p = weights + k * kWidth;
#pragma GCC unroll 4
    for (int i = 0; i < keys; ++i) {
      typename Simd<T>::Vector x[kVectors];
      Rows::load(tile.at(k + i), v, x);
      requests.advance(bytes);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        if (!kWhole && !(block.seen[first + r] >> (t * kTileKeys + k + i) & 1)) continue;
        const auto weight = broadcast(p[r * keys + i]);
#pragma GCC unroll 8
        for (int n = 0; n < kVectors; ++n) sums[r][n] = fma(x[n], weight, sums[r][n]);
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int n = 0; n < kVectors; ++n) {
      T* at = block.out + ((first + r) * block.vectors + v + n) * lanes;
      store(at, load(at) + sums[r][n]);
    }
  }
}

/// From vector v on, kVectors at a time, then half as many, down to what the loader takes together.
template <class T, class Rows, int kWidth, int kRows, int kVectors, bool kWhole>
void add_from(const Weighted<T>& block, int t, int first, std::int64_t v,
              Requests<kWidth>& requests) {
  for (; v + kVectors <= block.vectors; v += kVectors) {
    add_columns<T, Rows, kWidth, kRows, kVectors, kWhole>(block, t, first, v, requests);
  }
  if constexpr (kVectors > Rows::kLeast) {
    if (v < block.vectors) {
      add_from<T, Rows, kWidth, kRows, kVectors / 2, kWhole>(block, t, first, v, requests);
    }
  }
}

template <class T, class Rows, int kWidth>
void add_values(const Weighted<T>& block, bool whole) {
  // Where loading is cheap, two rows take V from end to end, as it lies; else each vector is made
  // once for all rows.
  constexpr int rows = Rows::kCheap ? int(smaller(2, kWidth)) : kWidth;
  constexpr int room = Simd<T>::kLanes * int(sizeof(T)) == 64 ? 16 : 8;
  constexpr int vectors = int(larger(Rows::kLeast, smaller(8, room / rows)));
  for (int t = 0; t < kTiles; ++t) {
    if (!block.tiles[t].data) continue;
    Requests<kWidth> requests(block.tiles[t]);
    for (int first = 0; first < kWidth; first += rows) {
      if (whole) {
        add_from<T, Rows, kWidth, rows, vectors, true>(block, t, first, 0, requests);
      } else {
        add_from<T, Rows, kWidth, rows, vectors, false>(block, t, first, 0, requests);
      }
    }
  }
}

}  // namespace regard::REGARD_ISA

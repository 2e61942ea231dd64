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
  T factor = 1;  ///< of a tile's sums, where weights have taken the scales of rows
};

/// Vectors [v, v + kVectors) of the columns of tile t. Where some row does not see some key, hidden
/// pairs are left out: 0 times what stands there need not be 0. A tile's keys are summed apart: in
/// one chain of 1,024 an f32 would lose digits.
template <class T, class Rows, int kWidth, int kRows, int kVectors, bool kWhole>
void add_columns(const Weighted<T>& block, int t, const T* weights, int first, std::int64_t v) {
  constexpr int lanes = Simd<T>::kLanes;
  constexpr int keys = keys_per_vector<T>(kWidth);
  // Of the rows ahead, the part that is this call's.
  constexpr auto bytes = stored_bytes<T, Rows>;
  constexpr int part = bytes(kVectors) * kRows / kWidth;
  constexpr int groups = kVectors < Rows::kStep ? 1 : kVectors / Rows::kStep;
  const std::int64_t part_at = bytes(v) + first / kRows * part;
  const TileRows& tile = block.tiles[t];
  typename Simd<T>::Vector sums[kRows][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int n = 0; n < kVectors; ++n) sums[r][n] = broadcast(T(0));
  }
  for (int k = 0; k < kTileKeys; k += keys) {
    const T* p = weights + k * kWidth + first * keys;
#pragma GCC unroll 4
    for (int i = 0; i < keys; ++i) {
      ask_for<part>(tile, k + i, part_at);
      typename Simd<T>::Vector x[kVectors];
      Rows::load(tile.at(k + i), v, x);
#pragma GCC unroll 16
      for (int n = 0; n < kVectors; ++n) x[n] = in_register(x[n]);
      typename Simd<T>::Vector scales[groups];
      if constexpr (LaneScaledRows<Rows>) {
#pragma GCC unroll 4
        for (int g = 0; g < groups; ++g)
          scales[g] = Rows::scale(tile.at(k + i), v + g * Rows::kStep);
      }
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        if (!kWhole && !(block.seen[first + r] >> (t * kTileKeys + k + i) & 1)) continue;
        const auto weight = broadcast(p[r * keys + i]);
#pragma GCC unroll 16
        for (int n = 0; n < kVectors; ++n) {
          if constexpr (LaneScaledRows<Rows>) {
            sums[r][n] = fma(x[n], weight * scales[n / Rows::kStep], sums[r][n]);
          } else {
            sums[r][n] = fma(x[n], weight, sums[r][n]);
          }
        }
      }
    }
  }
  const std::int64_t out_row = block.vectors * lanes;
  T* out = block.out + first * out_row + v * lanes;
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r, out += out_row) {
#pragma GCC unroll 16
    for (int n = 0; n < kVectors; ++n) {
      T* at = out + n * lanes;
      if constexpr (ScaledRows<Rows> || LaneScaledRows<Rows>) {
        store(at, fma(sums[r][n], broadcast(block.factor), load(at)));
      } else {
        store(at, load(at) + sums[r][n]);
      }
    }
  }
}

/// What is left from vector v on, at most kVectors, in one pass: each pass walks all rows of the
/// tile, and memory gives most where a row is taken from end to end.
template <class T, class Rows, int kWidth, int kRows, int kVectors, bool kWhole>
void add_rest(const Weighted<T>& block, int t, const T* weights, int first, std::int64_t v) {
  if (block.vectors - v == kVectors) {
    add_columns<T, Rows, kWidth, kRows, kVectors, kWhole>(block, t, weights, first, v);
  } else if constexpr (kVectors > kPadding<T, Rows>) {
    add_rest<T, Rows, kWidth, kRows, kVectors - kPadding<T, Rows>, kWhole>(block, t, weights, first,
                                                                           v);
  }
}

/// All columns from vector v on, kVectors at a time as long as there are so many.
template <class T, class Rows, int kWidth, int kRows, int kVectors, bool kWhole>
void add_from(const Weighted<T>& block, int t, const T* weights, int first, std::int64_t v) {
  for (; v + kVectors <= block.vectors; v += kVectors) {
    add_columns<T, Rows, kWidth, kRows, kVectors, kWhole>(block, t, weights, first, v);
  }
  if constexpr (kVectors > kPadding<T, Rows>) {
    add_rest<T, Rows, kWidth, kRows, kVectors - kPadding<T, Rows>, kWhole>(block, t, weights, first,
                                                                           v);
  }
}

/// The power of two that brings the largest of a tile's scales to 2^64, as far as it and its
/// inverse are normal numbers; 1 where that one is not finite.
inline float power_for(const float (&scales)[kTileKeys]) {
  std::uint32_t largest = 0;
  for (const float scale : scales) {
    std::uint32_t bits = 0;
    __builtin_memcpy(&bits, &scale, sizeof bits);
    bits &= 0x7fffffff;
    largest = bits > largest ? bits : largest;
  }
  const auto exponent = std::int64_t(largest >> 23) - 127;
  const std::int64_t power = exponent == 128 ? 0 : smaller(64 - exponent, 126);
  const auto bits = std::uint32_t(power + 127) << 23;
  float result = 0;
  __builtin_memcpy(&result, &bits, sizeof result);
  return result;
}

/// The weights of tile t times the scales of its rows and the power of two that is returned: small
/// weights would be lost to the smallest normal number where their product with an integer is not.
template <class T, class Rows, int kWidth>
T scale_weights(const Weighted<T>& block, int t, T (&weights)[kTileKeys * kWidth]) {
  constexpr int keys = keys_per_vector<T>(kWidth);
  const T* p = block.weights + t * kTileKeys * kWidth;
  T scales[kTileKeys];
  for (int k = 0; k < kTileKeys; ++k) scales[k] = Rows::scale(block.tiles[t].at(k));
  const T power = power_for(scales);
  for (T& scale : scales) scale *= power;
  for (int k = 0; k < kTileKeys; k += keys) {
    for (int r = 0; r < kWidth; ++r) {
      for (int i = 0; i < keys; ++i) {
        const int at = k * kWidth + r * keys + i;
        weights[at] = p[at] * scales[k + i];
      }
    }
  }
  return power;
}

/// The weights of a tile times a power of two, by which products with scales of f16 stay normal
/// numbers; its inverse and that of what elements are loaded too large is returned.
template <class T, class Rows, int kWidth>
T raise_weights(const T* p, T (&weights)[kTileKeys * kWidth]) {
  constexpr T power = T(0x1p64);
  for (int n = 0; n < kTileKeys * kWidth; ++n) weights[n] = p[n] * power;
  return 1 / (power * Rows::kOne);
}

template <class T, class Rows, int kWidth>
void add_values(Weighted<T> block, bool whole) {
  // Where loading is cheap, or a weight takes the scales of several vectors, four rows at most take
  // a few columns together; else each vector is made once for all rows.
  constexpr bool few = Rows::kCheap || LaneScaledRows<Rows>;
  constexpr int rows = few ? int(smaller(4, kWidth)) : kWidth;
  constexpr int room = Simd<T>::kLanes * int(sizeof(T)) == 64 ? 16 : 8;
  constexpr int vectors = int(larger(Rows::kLeast, room / rows));
  for (int t = 0; t < kTiles; ++t) {
    if (!block.tiles[t].data) continue;
    const T* weights = block.weights + t * kTileKeys * kWidth;
    T scaled[kTileKeys * kWidth];
    if constexpr (ScaledRows<Rows>) {
      block.factor = 1 / scale_weights<T, Rows, kWidth>(block, t, scaled);
      weights = scaled;
    }
    if constexpr (LaneScaledRows<Rows>) {
      block.factor = raise_weights<T, Rows, kWidth>(weights, scaled);
      weights = scaled;
    }
    for (int first = 0; first < kWidth; first += rows) {
      if (whole) {
        add_from<T, Rows, kWidth, rows, vectors, true>(block, t, weights, first, 0);
      } else {
        add_from<T, Rows, kWidth, rows, vectors, false>(block, t, weights, first, 0);
      }
    }
  }
}

}  // namespace regard::REGARD_ISA

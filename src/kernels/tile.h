// The register tile: kRows x (kVectors vectors) of accumulators, updated by outer products.
// The left operand is broadcast element by element from memory of any stride, the right one is a
// panel of whole vectors. Scores (K times Q') and outputs (V' times P') are both made of it.
#pragma once

#include <cstdint>

#include "prim/prim.h"

namespace regard::REGARD_ISA {

template <class T, int kRows, int kVectors>
struct Tile {
  using Vector = typename Simd<T>::Vector;
  Vector a[kRows][kVectors];

  [[gnu::always_inline]] void fill(T value) {
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) a[i][j] = broadcast(value);
    }
  }

  /// Adds the tile to memory whose rows are `width` numbers apart.
  [[gnu::always_inline]] void add_to(T* memory, int width) const {
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) {
        T* at = memory + i * width + Simd<T>::kLanes * j;
        store(at, load(at) + a[i][j]);
      }
    }
  }
};

/// Adds left[i][t] * panel[t] to row i for t in [0, count). `panel` advances by panel_step.
template <class T, int kRows, int kVectors>
[[gnu::always_inline]] inline void add_products(Tile<T, kRows, kVectors>& tile,
                                                const T* const (&left)[kRows],
                                                std::int64_t left_step, const T* panel,
                                                std::int64_t panel_step, std::int64_t count) {
  constexpr int lanes = Simd<T>::kLanes;
  std::int64_t at = 0;
#pragma GCC unroll 2
  for (std::int64_t t = 0; t < count; ++t, at += left_step, panel += panel_step) {
    typename Simd<T>::Vector right[kVectors];
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) right[j] = load(panel + lanes * j);
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      const auto x = broadcast(left[i][at]);
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) tile.a[i][j] = fma(x, right[j], tile.a[i][j]);
    }
  }
}

}  // namespace regard::REGARD_ISA

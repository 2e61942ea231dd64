// What happens to a tile of dot products before softmax: softcap, then bias and ALiBi. Lanes are
// rows; keys are counted from the start of the block.
#pragma once

#include <cstdint>

#include "contract/direct.h"
#include "kernels/row_state.h"
#include "kernels/tile.h"
#include "prim/prim.h"

namespace regard::REGARD_ISA {

/// c tanh(s / c). A score that is not finite must not become so: s - s is 0 or NaN. Far below the
/// cap s stays itself, also where s / c would be flushed.
template <class T, int kRows, int kVectors>
[[gnu::always_inline]] inline void cap(T softcap, Tile<T, kRows, kVectors>& tile) {
  const auto c = broadcast(softcap);
  const auto inverse = broadcast(T(1) / softcap);
  // x^2 / 3 is below half a roundoff there.
  const auto near = broadcast(sizeof(T) == 4 ? T(0x1p-12) : T(0x1p-27));
  for (auto& row : tile.a) {
    for (auto& s : row) {
      const auto x = s * inverse;
      s = select(greater(magnitude(x), near), fma(c, tanh<T>(x), s - s), s);
    }
  }
}

/// Adds the bias panel (keys, width) of the block, from its key `key` on.
template <class T, int kRows, int kVectors>
[[gnu::always_inline]] inline void add_bias(const T* panel, std::int64_t key, int width,
                                            Tile<T, kRows, kVectors>& tile) {
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) {
      tile.a[i][j] = tile.a[i][j] + load(panel + (key + i) * width + Simd<T>::kLanes * j);
    }
  }
}

/// Takes away slope |position - key|.
template <class T, int kRows, int kVectors>
[[gnu::always_inline]] inline void add_alibi(const T* slopes, const T* positions, std::int64_t key,
                                             Tile<T, kRows, kVectors>& tile) {
  const T first = T(int(key));
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
    const auto at = broadcast(first + T(i));
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) {
      const auto position = load(positions + Simd<T>::kLanes * j);
      const auto slope = load(slopes + Simd<T>::kLanes * j);
      tile.a[i][j] = tile.a[i][j] - slope * magnitude(position - at);
    }
  }
}

/// Takes a tile of scaled dot products to `stage`.
template <class T, int kRows, int kVectors, int kWidth>
[[gnu::always_inline]] inline void apply_hook(const contract::Score& score,
                                              const RowGroup<T, kWidth>& group, const T* bias_panel,
                                              contract::Stage stage, std::int64_t key,
                                              Tile<T, kRows, kVectors>& tile) {
  if (stage == contract::Stage::scaled) return;
  if (score.softcap != 0) cap(T(score.softcap), tile);
  if (stage == contract::Stage::capped) return;
  if (score.bias.data) add_bias(bias_panel, key, kWidth, tile);
  if (score.slopes.data) add_alibi(group.slopes, group.positions, key, tile);
}

/// e^(s - m) as a base-2 exponent, on its way to exp2. In the general form a difference may
/// overflow although its scores are finite (a bias near the end of the range), and is cut. A score
/// that is not finite gives NaN.
template <bool kGeneral, class T, class Vector>
[[gnu::always_inline]] inline Vector exponent_of(Vector s, Vector m, T unit) {
  if constexpr (!kGeneral) return s - m;
  const auto difference = maximum(broadcast(-T(kFar)), minimum(broadcast(T(kFar)), s - m));
  return fma(difference, broadcast(unit), s - s);
}

}  // namespace regard::REGARD_ISA

// From the keys of a block to weights: dot products with lanes along the head, one tree of sums a
// vector, then the same hook as `direct`, the running maximum and 2^x.
#pragma once

#include <cstdint>

#include "kernels/decode_pass.h"
#include "kernels/score_hook.h"
#include "prim/prim.h"

namespace regard::REGARD_ISA {

/// The queries of a pass.
template <class T>
struct Queries {
  const T* data = nullptr;   ///< (width, vectors) times the factor, in the loader's order
  std::int64_t vectors = 0;  ///< of a row
  /// Of the last columns that are loaded together, as they are: 1 for those of the head, 0 for what
  /// stands behind it. Null: the head fills them.
  const T* kept = nullptr;
  T rest = 1;  ///< of the factor, for sums of pairs
};

/// sum + x query, lane by lane.
template <class T, class Rows, class V>
[[gnu::always_inline]] inline V add_product(V x, V query, V sum) {
  if constexpr (Rows::kLaneColumns == 1) {
    return fma(x, query, sum);
  } else {
    return Rows::multiply(x, query, sum);
  }
}

/// x where `kept` is not 0.
template <class T, class Rows, class V>
[[gnu::always_inline]] inline V keep_columns(V x, V kept) {
  if constexpr (Rows::kLaneColumns == 1) {
    const auto zero = broadcast(T(0));
    return select(greater(kept, zero), x, zero);
  } else {
    return Rows::keep(x, kept);
  }
}

/// Keys that the scores take together. Two halve the loads of queries, which bound the products of
/// several rows; where memory does, a key's row is taken alone and from end to end, as it lies.
/// More than four vectors of two keys would leave too few registers.
template <class Rows, int kWidth, int kKeys>
inline constexpr int kKeysTogether = kKeys >= 2 &&
                                             kWidth >= (Rows::kCheap ? 8 : 2) && Rows::kStep <= 4
                                         ? 2
                                         : 1;

/// Adds the products of kVectors vectors from v on of keys i and following to the chains of their
/// rows.
template <class T, class Rows, int kWidth, int kKeys, int kVectors, int kCount, bool kLast = false>
[[gnu::always_inline]] inline void add_products(const RowAt (&rows)[kCount], int i,
                                                const Queries<T>& queries, std::int64_t v,
                                                typename Simd<T>::Vector (&sums)[kWidth * kKeys]) {
  using Vector = typename Simd<T>::Vector;
  Vector x[kCount][kVectors];
#pragma GCC unroll 2
  for (int n = 0; n < kCount; ++n) Rows::load(rows[n], v, x[n]);
  const auto query_at = [&](int r, int s) __attribute__((always_inline)) {
    return in_register(load(queries.data + (r * queries.vectors + v + s) * Simd<T>::kLanes));
  };
  if constexpr (LaneScaledRows<Rows>) {
    Vector scales[kCount];
#pragma GCC unroll 2
    for (int n = 0; n < kCount; ++n) scales[n] = Rows::scale(rows[n], v);
    // So many rows that the keys' vectors and all sums stay in registers beside their parts.
    constexpr int together = int(smaller(kWidth, 4 / kCount));
#pragma GCC unroll 8
    for (int first = 0; first < kWidth; first += together) {
      Vector parts[together][kCount];
#pragma GCC unroll 8
      for (int s = 0; s < kVectors; ++s) {
#pragma GCC unroll 4
        for (int r = 0; r < together; ++r) {
          const auto query = query_at(first + r, s);
#pragma GCC unroll 2
          for (int n = 0; n < kCount; ++n) {
            parts[r][n] = s == 0 ? x[n][s] * query : fma(x[n][s], query, parts[r][n]);
          }
        }
      }
#pragma GCC unroll 4
      for (int r = 0; r < together; ++r) {
#pragma GCC unroll 2
        for (int n = 0; n < kCount; ++n) {
          auto& sum = sums[(first + r) * kKeys + i + n];
          sum = fma(parts[r][n], scales[n], sum);
        }
      }
    }
    return;
  }
  if constexpr (kLast) {
#pragma GCC unroll 8
    for (int s = 0; s < kVectors; ++s) {
      const auto kept = load(queries.kept + s * Simd<T>::kLanes);
#pragma GCC unroll 2
      for (int n = 0; n < kCount; ++n) x[n][s] = keep_columns<T, Rows>(x[n][s], kept);
    }
  }
#pragma GCC unroll 8
  for (int s = 0; s < kVectors; ++s) {
#pragma GCC unroll 8
    for (int r = 0; r < kWidth; ++r) {
      const auto query = query_at(r, s);
#pragma GCC unroll 2
      for (int n = 0; n < kCount; ++n) {
        auto& sum = sums[r * kKeys + i + n];
        sum = add_product<T, Rows>(x[n][s], query, sum);
      }
    }
  }
}

/// Adds the products of kLanes pairs, (row of the pass, key), to a vector each.
template <class T, class Rows, int kWidth, int kKeys>
[[gnu::always_inline]] inline void add_dots(const TileRows& tile, int key,
                                            const Queries<T>& queries,
                                            typename Simd<T>::Vector (&sums)[kWidth * kKeys]) {
  constexpr int count = kKeysTogether<Rows, kWidth, kKeys>;
  constexpr int step = Rows::kStep;
  constexpr int chunk = 8 / Rows::kLaneColumns;
  constexpr auto bytes = stored_bytes<T, Rows>;
  const std::int64_t whole = queries.vectors - (queries.kept ? kPadding<T, Rows> : 0);
#pragma GCC unroll 16
  for (int i = 0; i < kKeys; i += count) {
    RowAt rows[count];
#pragma GCC unroll 2
    for (int n = 0; n < count; ++n) rows[n] = tile.at(key + i + n);
    std::int64_t v = 0;
    for (; v + chunk <= whole; v += chunk) {
#pragma GCC unroll 8
      for (int s = 0; s < chunk; s += step) {
        add_products<T, Rows, kWidth, kKeys, step>(rows, i, queries, v + s, sums);
      }
#pragma GCC unroll 2
      for (int n = 0; n < count; ++n) ask_for<bytes(chunk)>(tile, key + i + n, bytes(v));
    }
    for (; v < whole; v += step) {
      add_products<T, Rows, kWidth, kKeys, step>(rows, i, queries, v, sums);
#pragma GCC unroll 2
      for (int n = 0; n < count; ++n) ask_for<bytes(step)>(tile, key + i + n, bytes(v));
    }
    if (queries.kept) {
      add_products<T, Rows, kWidth, kKeys, kPadding<T, Rows>, count, true>(rows, i, queries, v,
                                                                           sums);
#pragma GCC unroll 2
      for (int n = 0; n < count; ++n) {
        ask_for<bytes(kPadding<T, Rows>)>(tile, key + i + n, bytes(v));
      }
    }
    if constexpr (ScaledRows<Rows>) {
#pragma GCC unroll 2
      for (int n = 0; n < count; ++n) {
        const auto scale = broadcast(Rows::scale(rows[n]));
#pragma GCC unroll 8
        for (int r = 0; r < kWidth; ++r) sums[r * kKeys + i + n] = sums[r * kKeys + i + n] * scale;
      }
    }
  }
}

/// Dot products of the rows of a pass and the keys of a block. Every product chain runs over the
/// vectors of the head in order, whatever kWidth is.
template <class T, class Rows, int kWidth>
void score_tiles(const TileRows (&tiles)[kTiles], const Queries<T>& queries, T* scores) {
  constexpr int lanes = Simd<T>::kLanes;
  constexpr int keys = keys_per_vector<T>(kWidth);
  for (int t = 0; t < kTiles; ++t, scores += kTileKeys * kWidth) {
    const TileRows& tile = tiles[t];
    if (!tile.data) continue;
    for (int k = 0; k < kTileKeys; k += keys) {
      typename Simd<T>::Vector sums[lanes];
#pragma GCC unroll 16
      for (int n = 0; n < lanes; ++n) sums[n] = broadcast(T(0));
      add_dots<T, Rows, kWidth, keys>(tile, k, queries, sums);
      auto sum = sum_each(sums);
      if constexpr (Rows::kLaneColumns > 1) sum = sum * broadcast(queries.rest);
      store(scores + k * kWidth, sum);
    }
  }
}

/// Scores of hidden pairs count as this: no score of a seen one is lower, unless infinite.
template <class T>
inline constexpr T kLowest = sizeof(T) == 4 ? T(-0x1.fffffep127) : T(-0x1.fffffffffffffp1023);

/// What is the same for all blocks of a task.
template <class T>
struct DecodeScore {
  const contract::Score* score = nullptr;  ///< of any of its sequences: flags and numbers
  T exponent = 1;                          ///< of a difference of scores
};

/// Raises m of the rows whose block holds a larger score, and takes l and O along.
template <class T>
void raise_rows(const DecodePass<T>& pass, const T* largest, T exponent, std::int64_t out_size) {
  constexpr int lanes = Simd<T>::kLanes;
  const int keys = keys_per_vector<T>(pass.width);
  for (int r = 0; r < pass.count; ++r) {
    T top = kLowest<T>;
    for (int k = 0; k < keys; ++k) top = largest[r * keys + k] > top ? largest[r * keys + k] : top;
    if (!(top > pass.m[r])) continue;
    const auto factor = exp2<T>(exponent_of<true>(broadcast(pass.m[r]), broadcast(top), exponent));
    T* l = pass.l + r * lanes;
    store(l, load(l) * factor);
    T* out = pass.out + r * out_size;
    for (std::int64_t d = 0; d < out_size; d += lanes) store(out + d, load(out + d) * factor);
    pass.m[r] = top;
  }
}

/// Softcap, bias and ALiBi on the scores of a block.
template <class T, int kWidth>
void hook_scores(const DecodePass<T>& pass, Keys block, const DecodeScore<T>& how) {
  RowGroup<T, kWidth> group;
  group.slopes = pass.slopes;
  group.positions = pass.positions;
  if (how.score->slopes.data) place_lanes(pass, block);
  for (int k = 0; k < kDecodeBlock; k += keys_per_vector<T>(kWidth)) {
    Tile<T, 1, 1> tile;
    tile.a[0][0] = load(pass.scores + k * kWidth);
    apply_hook(*how.score, group, pass.bias, contract::Stage::biased, k, tile);
    store(pass.scores + k * kWidth, tile.a[0][0]);
  }
}

/// The largest score that is seen, lane by lane.
template <bool kWhole, class T, int kWidth>
[[gnu::always_inline]] inline typename Simd<T>::Vector largest_scores(const DecodePass<T>& pass) {
  auto top = broadcast(kLowest<T>);
  for (int k = 0; k < kDecodeBlock; k += keys_per_vector<T>(kWidth)) {
    const auto s = load(pass.scores + k * kWidth);
    top = maximum(kWhole ? s : select(seen_lanes<T, kWidth>(pass.seen, k), s, top), top);
  }
  return top;
}

/// Turns scores into weights and adds them to l. Vector n of the sums holds the keys whose number
/// modulo kLanes is n keys to (n + 1) keys.
template <bool kGeneral, bool kWhole, class T, int kWidth>
[[gnu::always_inline]] inline void take_weights(const DecodePass<T>& pass,
                                                typename Simd<T>::Vector m, T exponent) {
  constexpr int lanes = Simd<T>::kLanes;
  constexpr int keys = keys_per_vector<T>(kWidth);
  typename Simd<T>::Vector l[kWidth];
#pragma GCC unroll 8
  for (int n = 0; n < kWidth; ++n) l[n] = broadcast(T(0));
  for (int k = 0; k < kDecodeBlock; k += lanes) {
#pragma GCC unroll 8
    for (int n = 0; n < kWidth; ++n) {
      T* at = pass.scores + (k + n * keys) * kWidth;
      auto p = exp2<T>(exponent_of<kGeneral>(load(at), m, exponent));
      if constexpr (!kWhole) {
        p = select(seen_lanes<T, kWidth>(pass.seen, k + n * keys), p, broadcast(T(0)));
      }
      l[n] = l[n] + p;
      store(at, p);
    }
  }
  alignas(64) T sums[lanes];
  for (int n = 0; n < kWidth; ++n) {
    store(sums, l[n]);
    for (int r = 0; r < pass.count; ++r) {
      for (int k = 0; k < keys; ++k) pass.l[r * lanes + n * keys + k] += sums[r * keys + k];
    }
  }
}

/// From dot products to weights, m and l. `kWhole`: all rows see the whole block.
template <bool kGeneral, bool kWhole, class T, int kWidth>
void weigh_pass(const DecodePass<T>& pass, Keys block, const DecodeScore<T>& how,
                std::int64_t out_size) {
  constexpr int keys = keys_per_vector<T>(kWidth);
  if constexpr (kGeneral) hook_scores<T, kWidth>(pass, block, how);
  alignas(64) T lanes[Simd<T>::kLanes];
  store(lanes, largest_scores<kWhole, T, kWidth>(pass));
  raise_rows(pass, lanes, how.exponent, out_size);
  for (int r = 0; r < kWidth; ++r) {
    for (int k = 0; k < keys; ++k) lanes[r * keys + k] = pass.m[r];
  }
  take_weights<kGeneral, kWhole, T, kWidth>(pass, load(lanes), how.exponent);
}

}  // namespace regard::REGARD_ISA

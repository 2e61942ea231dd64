// Which loops read rows of a format: its loader's, or those of T after a conversion.
#pragma once

#include <cstdint>

#include "contract/decode.h"
#include "kernels/decode_rows.h"
#include "kernels/decode_scores.h"
#include "kernels/decode_values.h"
#include "prim/prim.h"

namespace regard::REGARD_ISA {

/// The loops of one format, by the logarithm of the pass's width.
template <class T>
struct RowLoops {
  using Score = void (*)(const TileRows (&)[kTiles], const Queries<T>&, T*);
  using Values = void (*)(Weighted<T>, bool);
  Score score[4] = {};
  Values values[4] = {};
  /// Up to kChunk columns times `factor`, in the loader's order, and back.
  void (*gather)(const T* columns, std::int64_t count, T factor, T* ordered) = nullptr;
  void (*scatter)(const T* ordered, std::int64_t count, T* columns) = nullptr;
  int columns = 0;  ///< rows are padded to a multiple of it

  template <class Rows, int kLog = 0>
  static constexpr void fill(RowLoops& loops) {
    loops.score[kLog] = score_tiles<T, Rows, 1 << kLog>;
    loops.values[kLog] = add_values<T, Rows, 1 << kLog>;
    if constexpr (2 << kLog <= kPassRows<T>) fill<Rows, kLog + 1>(loops);
  }
};

template <class T, class Rows>
inline constexpr RowLoops<T> kRowLoops = [] {
  RowLoops<T> loops;
  RowLoops<T>::template fill<Rows>(loops);
  loops.gather = [](const T* columns, std::int64_t count, T factor, T* ordered) {
    for (std::int64_t n = 0; n < count; ++n) ordered[n] = columns[Rows::column(n)] * factor;
  };
  loops.scatter = [](const T* ordered, std::int64_t count, T* columns) {
    for (std::int64_t n = 0; n < count; ++n) columns[Rows::column(n)] = ordered[n];
  };
  loops.columns = Rows::kColumns;
  return loops;
}();

/// The format of T itself.
template <class T>
inline constexpr contract::RowFormat kNative = sizeof(T) == 8 ? contract::RowFormat::f64
                                                              : contract::RowFormat::f32;

/// f.operator()<format>() for every format that the ISA has a loader for.
template <class F>
constexpr void for_each_loader(const F& f) {
  using contract::RowFormat;
  const auto take = [&]<RowFormat... kFormats>() {
    const auto one = [&]<RowFormat kFormat>() {
      if constexpr (RowLoader<kFormat>::kExists) f.template operator()<kFormat>();
    };
    (one.template operator()<kFormats>(), ...);
  };
  take.template operator()<RowFormat::f16, RowFormat::bf16, RowFormat::fp8_e4m3,
                           RowFormat::fp8_e5m2, RowFormat::int8, RowFormat::int8_32,
                           RowFormat::int4_32, RowFormat::q8_0, RowFormat::q4_0>();
}

/// The loops for rows of `format`, or those of T: such rows are converted.
template <class T>
const RowLoops<T>& loops_of(contract::RowFormat format) {
  const RowLoops<T>* found = &kRowLoops<T, NativeRows<T>>;
  if constexpr (sizeof(T) == 4) {
    for_each_loader([&]<contract::RowFormat kFormat>() {
      if (format == kFormat) found = &kRowLoops<T, RowLoader<kFormat>>;
    });
  }
  return *found;
}

/// What rows of any format are padded to, at most.
template <class T>
constexpr std::int64_t most_columns() {
  std::int64_t most = kRowLoops<T, NativeRows<T>>.columns;
  if constexpr (sizeof(T) == 4) {
    for_each_loader([&]<contract::RowFormat kFormat>() {
      if (RowLoader<kFormat>::kColumns > most) most = RowLoader<kFormat>::kColumns;
    });
  }
  return most;
}

}  // namespace regard::REGARD_ISA

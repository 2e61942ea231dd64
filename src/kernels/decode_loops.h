// Which loops read rows of a format: its loader's, or those of T after a conversion.
#pragma once

#include <cstdint>

#include "contract/decode.h"
#include "kernels/decode_rows.h"
#include "kernels/decode_scores.h"
#include "kernels/decode_values.h"
#include "prim/prim.h"

namespace regard::REGARD_ISA {

inline constexpr int kOrdered = 128;  // columns whose order a loader chooses, at most

/// The loops of one format, by the logarithm of the pass's width.
template <class T>
struct RowLoops {
  using Score = void (*)(const TileRows (&)[kTiles], const Queries<T>&, T*);
  using Values = void (*)(Weighted<T>, bool);
  Score score[4] = {};
  Values values[4] = {};
  /// Up to kOrdered columns times `factor`, in the loader's order, and back.
  void (*gather)(const T* columns, std::int64_t count, T factor, T* ordered) = nullptr;
  void (*scatter)(const T* ordered, std::int64_t count, T* columns) = nullptr;
  int columns = 0;       ///< rows are padded to a multiple of it
  int lane_columns = 1;  ///< columns in a lane of a vector of keys
  bool native = false;   ///< rows are of T: what has no loader is converted to it

  template <class Rows, int kLog = 0>
  static constexpr void fill(RowLoops& loops) {
    loops.score[kLog] = score_tiles<T, Rows, 1 << kLog>;
    if constexpr (Rows::kLaneColumns == 1) loops.values[kLog] = add_values<T, Rows, 1 << kLog>;
    if constexpr (2 << kLog <= kPassRows<T>) fill<Rows, kLog + 1>(loops);
  }
};

template <class T, class Rows>
inline constexpr RowLoops<T> kRowLoops = [] {
  RowLoops<T> loops;
  RowLoops<T>::template fill<Rows>(loops);
  loops.gather = [](const T* columns, std::int64_t count, T factor, T* ordered) {
    if constexpr (LaneScaledRows<Rows>) factor /= Rows::kOne;
    for (std::int64_t n = 0; n < count; ++n) {
      const T number = columns[Rows::column(n)] * factor;
      if constexpr (Rows::kLaneColumns == 1) {
        ordered[n] = number;
      } else {
        const std::uint16_t half = f32_to_bf16(number);
        __builtin_memcpy(reinterpret_cast<std::byte*>(ordered) + 2 * n, &half, sizeof half);
      }
    }
  };
  loops.scatter = [](const T* ordered, std::int64_t count, T* columns) {
    for (std::int64_t n = 0; n < count; ++n) columns[Rows::column(n)] = ordered[n];
  };
  loops.columns = Rows::kColumns;
  loops.lane_columns = Rows::kLaneColumns;
  loops.native = Rows::kNative;
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

/// Rows of any format: loops of its loader, or those of T, since such rows are converted.
template <class T>
struct AnyRows {
  static constexpr const char* kUnit = "fma";

  static const RowLoops<T>& values(contract::RowFormat format, std::int64_t columns) {
    const RowLoops<T>* found = &kRowLoops<T, NativeRows<T>>;
    if constexpr (sizeof(T) == 4) {
      for_each_loader([&]<contract::RowFormat kFormat>() {
        if (format != kFormat) return;
        found = &kRowLoops<T, RowLoader<kFormat>>;
        if constexpr (WideLoader<kFormat>::kExists) {
          if (columns % WideLoader<kFormat>::kColumns == 0)
            found = &kRowLoops<T, WideLoader<kFormat>>;
        }
      });
    }
    return *found;
  }
  static const RowLoops<T>& keys(contract::RowFormat format, std::int64_t columns) {
    return values(format, columns);
  }

  /// What rows are padded to, at most.
  static constexpr std::int64_t most_columns() {
    std::int64_t most = kRowLoops<T, NativeRows<T>>.columns;
    if constexpr (sizeof(T) == 4) {
      for_each_loader([&]<contract::RowFormat kFormat>() {
        if (RowLoader<kFormat>::kColumns > most) most = RowLoader<kFormat>::kColumns;
      });
    }
    return most;
  }
};

/// Queries, keys and values of one type of 16 bits, whose pairs the ISA multiplies.
template <contract::RowFormat kFormat>
struct PairedRows {
  static constexpr const char* kUnit = "dot";

  static const RowLoops<float>& keys(contract::RowFormat, std::int64_t) {
    return kRowLoops<float, PairLoader<kFormat>>;
  }
  static const RowLoops<float>& values(contract::RowFormat, std::int64_t) {
    return kRowLoops<float, RowLoader<kFormat>>;
  }
  static constexpr std::int64_t most_columns() { return PairLoader<kFormat>::kColumns; }
};

}  // namespace regard::REGARD_ISA

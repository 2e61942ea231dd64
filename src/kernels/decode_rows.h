// Formats of the rows of K and V, as loaders take them, and how a row is copied or converted.
#pragma once

#include <cstdint>

#include "contract/decode.h"
#include "kernels/panels.h"
#include "prim/prim.h"
#include "prim/row_loader.h"
#include "prim/sum_each.h"

namespace regard::REGARD_ISA {

inline constexpr int kTileKeys = 16;  // pages hold whole tiles
inline constexpr int kTiles = 4;      // of a block: one 64-bit word says which keys a row sees
inline constexpr int kDecodeBlock = kTileKeys * kTiles;

/// Rows that are loaded without their scale, which `Rows::scale` gives: it takes one multiplication
/// of a score or a weight instead of one of each element.
template <class Rows>
concept ScaledRows = requires(RowAt row) {
  Rows::scale(row);
};

/// Rows whose scales take one multiplication of a few vectors' sum, or of a weight.
template <class Rows>
concept LaneScaledRows = requires(RowAt row) {
  Rows::scale(row, std::int64_t{});
};

/// Rows of T itself.
template <class T>
struct NativeRows {
  static constexpr bool kNative = true;  ///< of the type that loops compute in
  static constexpr bool kCheap = true;   ///< loading costs an instruction
  static constexpr int kStep = 1;        ///< vectors that the scores load together
  static constexpr int kLeast = 1;  ///< vectors that can be loaded alone, from a multiple of it on
  static constexpr int kColumns = Simd<T>::kLanes;  ///< a row is padded to a multiple of it
  static constexpr int kLaneColumns = 1;

  /// The column that stands at `position` of the vectors loaded.
  static std::int64_t column(std::int64_t position) { return position; }

  /// Vectors v to v + N of the row.
  template <int N>
  [[gnu::always_inline]] static void load(RowAt row, std::int64_t v,
                                          typename Simd<T>::Vector (&x)[N]) {
    const std::byte* from = row.data + v * std::int64_t{sizeof(typename Simd<T>::Vector)};
#pragma GCC unroll 16
    for (int n = 0; n < N; ++n) {
      x[n] = load_anywhere<T>(from + n * std::int64_t{sizeof(typename Simd<T>::Vector)});
    }
  }
};

/// Columns of a vector.
template <class T, class Rows>
inline constexpr int kVectorColumns = Simd<T>::kLanes* Rows::kLaneColumns;

/// Vectors that a row is padded to a multiple of.
template <class T, class Rows>
inline constexpr int kPadding = Rows::kColumns / kVectorColumns<T, Rows>;

/// The rows of a tile, evenly spaced. Null: no row of the call sees them.
struct TileRows {
  const std::byte* data = nullptr;
  std::int64_t step = 0;
  const std::byte* scales = nullptr;
  std::int64_t scale_step = 0;
  std::int64_t ahead = 0;  ///< from here to the rows that are needed soon; 0: there are none
  bool sparse = false;     ///< one of their lines in four is asked for, not each

  [[gnu::always_inline]] RowAt at(int key) const {
    return {data + key * step, scales + key * scale_step};
  }
};

/// How far ahead rows are asked for.
inline constexpr std::int64_t kKeysAhead = 2 * kTileKeys;

/// What a format takes: bits of an element, and bytes of its scales.
struct FormatShape {
  int bits = 0;         ///< of an element, beside its scale
  int scale_bytes = 0;  ///< in the scale array: of a row, or of a block of 32
  bool scale_a_row = false;
  int block_bytes = 0;  ///< of a block of 32 that holds its own scale
};

constexpr FormatShape shape_of(contract::RowFormat format) {
  using contract::RowFormat;
  switch (format) {
    case RowFormat::f64:
      return {.bits = 64};
    case RowFormat::f32:
      return {.bits = 32};
    case RowFormat::f16:
    case RowFormat::bf16:
      return {.bits = 16};
    case RowFormat::fp8_e4m3:
    case RowFormat::fp8_e5m2:
      return {.bits = 8};
    case RowFormat::int8:
      return {.bits = 8, .scale_bytes = 4, .scale_a_row = true};
    case RowFormat::int8_32:
      return {.bits = 8, .scale_bytes = 2};
    case RowFormat::int4_32:
      return {.bits = 4, .scale_bytes = 2};
    case RowFormat::q8_0:
      return {.block_bytes = 34};
    case RowFormat::q4_0:
      return {.block_bytes = 18};
  }
  return {};
}

constexpr std::int64_t dense_row_bytes(const FormatShape& shape, std::int64_t columns) {
  return shape.block_bytes ? columns / 32 * shape.block_bytes : columns * shape.bits / 8;
}
inline std::int64_t scale_row_bytes(const FormatShape& shape, std::int64_t columns) {
  return shape.scale_a_row ? shape.scale_bytes : ceil_to(columns, 32) / 32 * shape.scale_bytes;
}

/// Bytes that 32 elements take as stored.
template <class Rows>
extern const int kBytesOf32;
template <class T>
inline constexpr int kBytesOf32<NativeRows<T>> = 32 * int(sizeof(T));
template <contract::RowFormat kFormat>
inline constexpr int kBytesOf32<RowLoader<kFormat>> = int(dense_row_bytes(shape_of(kFormat), 32));
template <contract::RowFormat kFormat>
inline constexpr int kBytesOf32<WideLoader<kFormat>> = kBytesOf32<RowLoader<kFormat>>;
template <contract::RowFormat kFormat>
inline constexpr int kBytesOf32<PairLoader<kFormat>> = kBytesOf32<RowLoader<kFormat>>;

/// Bytes that `vectors` vectors of a row take as stored.
template <class T, class Rows>
constexpr std::int64_t stored_bytes(std::int64_t vectors) {
  return vectors * kVectorColumns<T, Rows> * kBytesOf32<Rows> / 32;
}

/// Asks memory for kBytes from `offset` on of a row that is needed soon. Evenly spread over the
/// work on a tile: in a burst requests would fill the few misses that a core may have in flight.
template <int kBytes>
[[gnu::always_inline]] inline void ask_for(const TileRows& tile, int key, std::int64_t offset) {
  const std::byte* row = tile.at(key).data + tile.ahead + offset;
  // Not inlined it would count as without effect, and go.
  const auto ask = [&]<int kStep>() __attribute__((always_inline)) {
    if (kBytes < kStep && (offset & (kStep - 1)) >= kBytes) return;
#pragma GCC unroll 16
    for (int at = 0; at < kBytes; at += kStep) __builtin_prefetch(row + at, 0, 2);
  };
  if (tile.sparse) {
    ask.template operator()<256>();
  } else {
    ask.template operator()<64>();
  }
}

/// The bits of an f16: fp8 is half of one, e5m2 its upper byte, e4m3 its fields with another bias,
/// so that 2^8 times it is meant.
inline std::uint16_t e5m2_as_f16(std::uint8_t x) {
  return std::uint16_t(x << 8);
}
inline std::uint16_t e4m3_as_f16(std::uint8_t x) {
  constexpr int nan = 0x7e00;
  const int magnitude = x & 0x7f;
  return std::uint16_t((x & 0x80) << 8 | (magnitude == 0x7f ? nan : magnitude << 7));
}

inline void convert_fp8(bool e5m2, const std::byte* row, std::int64_t columns, float* target) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(row);
  const float factor = e5m2 ? 1.0f : 0x1p8f;
  for (std::int64_t d = 0; d < columns; d += kChunk) {
    const std::int64_t count = smaller(kChunk, columns - d);
    std::uint16_t halves[kChunk];
    for (std::int64_t n = 0; n < count; ++n) {
      halves[n] = e5m2 ? e5m2_as_f16(bytes[d + n]) : e4m3_as_f16(bytes[d + n]);
    }
    f16_to_f32(halves, count, target + d);
    for (std::int64_t n = 0; n < count; ++n) target[d + n] *= factor;
  }
}

/// The integers of a block of 32: bytes, or nibbles less 8, two a byte.
inline void unpack_block(contract::RowFormat format, const std::uint8_t* bytes,
                         std::int8_t (&integers)[32]) {
  using contract::RowFormat;
  if (format != RowFormat::int4_32 && format != RowFormat::q4_0) {
    __builtin_memcpy(integers, bytes, sizeof integers);
    return;
  }
  const bool pairs = format == RowFormat::int4_32;  // neighbours share a byte, else n and n + 16
  for (int n = 0; n < 16; ++n) {
    integers[pairs ? 2 * n : n] = std::int8_t((bytes[n] & 15) - 8);
    integers[pairs ? 2 * n + 1 : n + 16] = std::int8_t((bytes[n] >> 4) - 8);
  }
}

/// A quantised row: integers times the scale of the row or block.
inline void convert_quantised(contract::RowFormat format, RowAt row, std::int64_t columns,
                              float* target) {
  const FormatShape shape = shape_of(format);
  const std::int64_t step = shape.block_bytes ? shape.block_bytes : 32 * shape.bits / 8;
  const std::byte* at = row.data;
  for (std::int64_t d = 0; d < columns; d += 32, at += step) {
    const float scale = shape.scale_a_row   ? scale_f32(row.scales)
                        : shape.block_bytes ? scale_f16(at)
                                            : scale_f16(row.scales + d / 32 * 2);
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(at + (shape.block_bytes ? 2 : 0));
    const std::int64_t count = smaller(32, columns - d);
    std::int8_t integers[32];
    if (count == 32) {
      unpack_block(format, bytes, integers);
    } else {
      __builtin_memcpy(integers, bytes, std::size_t(count));  // int8: other blocks are whole
    }
    for (std::int64_t n = 0; n < count; ++n) target[d + n] = float(integers[n]) * scale;
  }
}

/// One row converted to T, in the order of its columns. Rows of f64 alone are converted to f64.
template <class T>
void convert_row(const contract::KeyRows& rows, RowAt row, std::int64_t columns, T* target) {
  using contract::Element;
  using contract::RowFormat;
  const auto elements = [&](Element type, std::int64_t size) {
    read_elements<T>(type, row.data, rows.dense ? 1 : rows.column / size, columns, target);
  };
  switch (rows.format) {
    case RowFormat::f64:
      return elements(Element::f64, 8);
    case RowFormat::f32:
      return elements(Element::f32, 4);
    case RowFormat::f16:
      return elements(Element::f16, 2);
    case RowFormat::bf16:
      return elements(Element::bf16, 2);
    default:
      break;
  }
  if constexpr (sizeof(T) == 4) {
    const bool e5m2 = rows.format == RowFormat::fp8_e5m2;
    if (e5m2 || rows.format == RowFormat::fp8_e4m3) {
      convert_fp8(e5m2, row.data, columns, target);
    } else {
      convert_quantised(rows.format, row, columns, target);
    }
  }
}

/// One row as stored, without gaps, and its scales; what is behind them up to the padded length is
/// left alone.
inline void copy_row(const contract::KeyRows& rows, const FormatShape& shape, RowAt row,
                     std::int64_t columns, std::byte* target, std::byte* scales) {
  const std::int64_t size = shape.bits / 8;
  if (rows.dense) {
    __builtin_memcpy(target, row.data, std::size_t(dense_row_bytes(shape, columns)));
  } else {
    for (std::int64_t n = 0; n < columns; ++n) {
      __builtin_memcpy(target + n * size, row.data + n * rows.column, std::size_t(size));
    }
  }
  if (shape.scale_bytes) {
    __builtin_memcpy(scales, row.scales, std::size_t(scale_row_bytes(shape, columns)));
  }
}

}  // namespace regard::REGARD_ISA

// A row of stored keys or values, and the formats that an ISA loads into vectors without a copy.
// The headers of an ISA specialise RowLoader; kernels/decode_rows.h says what one has to have.
#pragma once

#include <cstddef>
#include <cstdint>

#include "contract/decode.h"

namespace regard::REGARD_ISA {

struct RowAt {
  const std::byte* data = nullptr;
  const std::byte* scales = nullptr;
};

/// A scale, at any address. What the header of the ISA has of f16 comes before.
[[gnu::always_inline]] inline float scale_f16(const std::byte* from) {
  std::uint16_t bits = 0;
  __builtin_memcpy(&bits, from, sizeof bits);
  return f16_to_f32(bits);
}
[[gnu::always_inline]] inline float scale_f32(const std::byte* from) {
  float scale = 0;
  __builtin_memcpy(&scale, from, sizeof scale);
  return scale;
}

/// Rows of a format as vectors of f32; without a specialisation they are converted first.
template <contract::RowFormat kFormat>
struct RowLoader {
  static constexpr bool kExists = false;
};

/// What loaders share: `kTogether` vectors are loaded together, `kAlone` can be, from a multiple of
/// it on, and a row is padded to a multiple of `kPadding` columns, which stand in their order.
template <int kTogether, int kAlone, int kPadding>
struct LoadedRows {
  static constexpr bool kExists = true;
  static constexpr bool kNative = false;
  static constexpr bool kCheap = false;
  static constexpr int kStep = kTogether;
  static constexpr int kLeast = kAlone;
  static constexpr int kColumns = kPadding;
  static constexpr int kLaneColumns = 1;  ///< columns in a lane of a vector
  static std::int64_t column(std::int64_t position) { return position; }
};

/// The same for rows of whole `kColumns`: one vector scales kStep vectors. Elements are loaded
/// without it and kOne times too large.
template <contract::RowFormat kFormat>
struct WideLoader {
  static constexpr bool kExists = false;
};

/// Rows of a format of 16 bits beside queries of that type: pairs, multiplied as they are.
template <contract::RowFormat kFormat>
struct PairLoader;

/// Two vectors of neighbours: the even columns, then the odd ones.
template <int kLanes>
struct EvenOddRows : LoadedRows<2, 2, 2 * kLanes> {
  static std::int64_t column(std::int64_t position) {
    constexpr int both = 2 * kLanes;
    return position / both * both + position % kLanes * 2 + position / kLanes % 2;
  }
};

}  // namespace regard::REGARD_ISA

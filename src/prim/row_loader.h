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

}  // namespace regard::REGARD_ISA

// A row of stored keys or values, and the formats that an ISA loads into vectors without a copy.
// The headers of an ISA specialise RowLoader; kernels/decode_rows.h says what one has to have.
#pragma once

#include <cstddef>

#include "contract/decode.h"

namespace regard::REGARD_ISA {

struct RowAt {
  const std::byte* data = nullptr;
  const std::byte* scales = nullptr;
};

/// Rows of a format as vectors of f32; without a specialisation they are converted first.
template <contract::RowFormat kFormat>
struct RowLoader {
  static constexpr bool kExists = false;
};

}  // namespace regard::REGARD_ISA

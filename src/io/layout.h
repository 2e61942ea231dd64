// From an element type and a shape to strides and bytes, with every product checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "regard/tensor.h"

namespace regard::io {

/// Most axes an array may have.
inline constexpr std::size_t kMaxRank = 32;

enum class Order { c, fortran };

struct Layout {
  std::vector<std::int64_t> strides;  ///< in elements
  std::int64_t bytes = 0;
};

/// Fills the dense layout of `shape`, whose axes are not negative. False when its bytes pass
/// 2^63 - 1; an axis of length 0 counts as 1 there, so that each stride is in range too.
bool lay_out(DType dtype, std::span<const std::int64_t> shape, Order order, Layout& layout);

}  // namespace regard::io

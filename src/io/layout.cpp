#include "io/layout.h"

#include <algorithm>

namespace regard::io {

bool lay_out(DType dtype, std::span<const std::int64_t> shape, Order order, Layout& layout) {
  layout.strides.assign(shape.size(), 1);
  std::int64_t elements = 1;
  for (std::size_t step = 0; step < shape.size(); ++step) {
    const std::size_t axis = order == Order::c ? shape.size() - 1 - step : step;
    layout.strides[axis] = elements;
    const std::int64_t length = std::max<std::int64_t>(shape[axis], 1);
    if (__builtin_mul_overflow(elements, length, &elements)) return false;
  }
  if (__builtin_mul_overflow(elements, element_bytes(dtype), &layout.bytes)) return false;
  if (std::ranges::count(shape, 0) != 0) layout.bytes = 0;
  return true;
}

}  // namespace regard::io

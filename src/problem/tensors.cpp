#include "problem/tensors.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>

#include "base/status_text.h"

namespace regard::problem {

using base::invalid;
using base::text;
using std::to_string;

namespace {

// Row and key numbers fit 32 bits in the kernels.
constexpr std::int64_t kLongestAxis = std::numeric_limits<std::int32_t>::max();
// Counts of rows, items and bytes stay far inside 64 bits.
constexpr std::int64_t kMostElements = std::int64_t{1} << 56;

}  // namespace

Status check_axes(const char* name, const ConstTensor& tensor) {
  for (std::size_t axis = 0; axis < 4; ++axis) {
    const std::int64_t size = tensor.shape[axis];
    if (size < 0 || size > kLongestAxis) {
      return invalid(std::string(name) + ": axis " + to_string(axis) + " has size " +
                     to_string(size) + ", which is not in [0, " + to_string(kLongestAxis) + "]");
    }
  }
  std::int64_t elements = 1;
  for (const std::int64_t size : tensor.shape) {
    if (__builtin_mul_overflow(elements, std::max<std::int64_t>(size, 1), &elements) ||
        elements > kMostElements) {
      return invalid(std::string(name) + ": shape " + text(tensor.shape) + " has more than " +
                     to_string(kMostElements) + " elements");
    }
  }
  constexpr std::int64_t farthest = std::numeric_limits<std::int64_t>::max() / 16;
  std::int64_t reach = 0;
  for (std::size_t axis = 0; axis < 4; ++axis) {
    std::int64_t step = 0;
    const std::int64_t last = std::max<std::int64_t>(tensor.shape[axis] - 1, 0);
    const bool overflow = __builtin_mul_overflow(last, tensor.strides[axis], &step);
    if (overflow || step < -farthest || step > farthest || (reach += std::abs(step)) > farthest) {
      return invalid(std::string(name) + ": stride " + to_string(tensor.strides[axis]) +
                     " of axis " + to_string(axis) + " times its size " +
                     to_string(tensor.shape[axis]) + " leaves the address space");
    }
  }
  return {};
}

Status check_shape(const char* name, const Shape& shape, const Shape& wanted) {
  if (shape == wanted) return {};
  return invalid(std::string(name) + ": shape " + text(shape) + " differs from " + text(wanted));
}

Status check_float(const char* name, DType dtype) {
  if (is_float(dtype)) return {};
  return invalid(std::string(name) + ": dtype " + dtype_name(dtype) +
                 " is none of f64, f32, f16 and bf16");
}

Status check_pointer(const char* name, const ConstTensor& tensor) {
  const bool empty = std::ranges::any_of(tensor.shape, [](auto n) { return n == 0; });
  if (empty) return {};
  if (!tensor.data) {
    return invalid(std::string(name) + ": data is null but its shape is " + text(tensor.shape));
  }
  const auto address = reinterpret_cast<std::uintptr_t>(tensor.data);
  const auto bytes = std::uintptr_t(element_bytes(tensor.dtype));
  if (bytes != 0 && address % bytes != 0) {
    return invalid(std::string(name) + ": its address is " + to_string(address % bytes) +
                   " bytes past a multiple of its element, " + to_string(bytes) + " bytes");
  }
  return {};
}

Status broadcast(const char* name, const Shape& wanted, ConstTensor& tensor) {
  for (std::size_t axis = 0; axis < 4; ++axis) {
    const std::int64_t size = tensor.shape[axis];
    if (size != 1 && size != wanted[axis]) {
      return invalid(std::string(name) + ": axis " + to_string(axis) + " of shape " +
                     text(tensor.shape) + " is neither 1 nor that of " + text(wanted));
    }
  }
  if (Status status = check_axes(name, tensor); !status.ok()) return status;
  for (std::size_t axis = 0; axis < 4; ++axis) {
    if (tensor.shape[axis] == 1) tensor.strides[axis] = 0;
  }
  tensor.shape = wanted;
  return {};
}

Status check_result(const char* name, const ConstTensor& tensor, const Shape& shape) {
  Status status = check_shape(name, tensor.shape, shape);
  if (status.ok()) status = check_float(name, tensor.dtype);
  if (status.ok()) status = check_axes(name, tensor);
  if (status.ok()) status = check_pointer(name, tensor);
  return status;
}

}  // namespace regard::problem

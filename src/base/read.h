// Reads elements of any float type, widened exactly to f64. For code that wants values, not speed.
#pragma once

#include <cstdint>

#include "regard/half.h"
#include "regard/tensor.h"

namespace regard::base {

constexpr double widen(double x) noexcept {
  return x;
}
constexpr double widen(float x) noexcept {
  return double(x);
}
constexpr double widen(F16 x) noexcept {
  return double(to_float(x));
}
constexpr double widen(BF16 x) noexcept {
  return double(to_float(x));
}

/// Calls f with a null pointer to the element type of a float dtype.
template <class F>
auto with_float_type(DType dtype, const F& f) {
  switch (dtype) {
    case DType::f64:
      return f(static_cast<const double*>(nullptr));
    case DType::f16:
      return f(static_cast<const F16*>(nullptr));
    case DType::bf16:
      return f(static_cast<const BF16*>(nullptr));
    default:
      return f(static_cast<const float*>(nullptr));
  }
}

/// Elements `offset`, `offset` + `stride`, ... of memory of a float type.
inline void read_floats(const ConstTensor& tensor, std::int64_t offset, std::int64_t stride,
                        std::int64_t count, double* values) {
  with_float_type(tensor.dtype, [&]<class T>(const T*) {
    const T* element = static_cast<const T*>(tensor.data) + offset;
    for (std::int64_t n = 0; n < count; ++n) values[n] = widen(element[n * stride]);
  });
}

/// Where (b, h, s, d) stands, in elements from the start; an axis of size 1 repeats.
inline std::int64_t broadcast_offset(const ConstTensor& tensor, const Shape& index) noexcept {
  std::int64_t offset = 0;
  for (std::size_t axis = 0; axis < 4; ++axis) {
    if (tensor.shape[axis] != 1) offset += index[axis] * tensor.strides[axis];
  }
  return offset;
}

/// One element of a float tensor, broadcast.
inline double read_float(const ConstTensor& tensor, const Shape& index) {
  double value = 0;
  read_floats(tensor, broadcast_offset(tensor, index), 0, 1, &value);
  return value;
}

/// One element of a tensor of one-byte booleans, broadcast; any byte but 0 is true.
inline bool read_bool(const ConstTensor& tensor, const Shape& index) {
  return static_cast<const unsigned char*>(tensor.data)[broadcast_offset(tensor, index)] != 0;
}

}  // namespace regard::base

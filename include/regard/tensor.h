// Views of a caller's memory: a pointer, an element type, a shape and strides.
// Logical order is always (B, H, S, D), whatever the order in memory. Strides are in elements.
// On inputs they may be zero or negative; nothing here owns or copies memory.
#pragma once

#include <array>
#include <cstdint>

namespace regard {

enum class DType : std::uint8_t { f64, f32, f16, bf16 };

/// "f32"; "unknown" for a value outside the enumeration.
constexpr const char* dtype_name(DType dtype) noexcept {
  constexpr const char* names[] = {"f64", "f32", "f16", "bf16"};
  return dtype <= DType::bf16 ? names[int(dtype)] : "unknown";
}

/// Bytes of one element; 0 for a value outside the enumeration.
constexpr std::int64_t element_bytes(DType dtype) noexcept {
  constexpr std::int64_t bytes[] = {8, 4, 2, 2};
  return dtype <= DType::bf16 ? bytes[int(dtype)] : 0;
}

using Shape = std::array<std::int64_t, 4>;
using Strides = std::array<std::int64_t, 4>;

/// Strides in elements of a dense array of `shape` whose last axis is contiguous.
constexpr Strides dense_strides(const Shape& shape) noexcept {
  return {shape[1] * shape[2] * shape[3], shape[2] * shape[3], shape[3], 1};
}

/// Strides in elements that read memory laid out as (B, S, H, D) in the logical order (B, H, S, D).
constexpr Strides bshd_strides(const Shape& shape) noexcept {
  return {shape[1] * shape[2] * shape[3], shape[3], shape[1] * shape[3], 1};
}

/// A read-only view. A null `data` means "not given".
struct ConstTensor {
  const void* data = nullptr;
  DType dtype = DType::f32;
  Shape shape{};
  Strides strides{};
};

/// A writable view. A null `data` means "not wanted".
struct Tensor {
  void* data = nullptr;
  DType dtype = DType::f32;
  Shape shape{};
  Strides strides{};

  operator ConstTensor() const noexcept { return {data, dtype, shape, strides}; }
};

template <class T>
struct DTypeOf;
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::f64;
};
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::f32;
};

/// A dense (B, H, S, D) view of `data`.
template <class T>
constexpr ConstTensor view(const T* data, const Shape& shape) noexcept {
  return {data, DTypeOf<T>::value, shape, dense_strides(shape)};
}
template <class T>
constexpr Tensor view(T* data, const Shape& shape) noexcept {
  return {data, DTypeOf<T>::value, shape, dense_strides(shape)};
}

/// A (B, H, S, D) view of `data` that lies in memory as (B, S, H, D).
template <class T>
constexpr ConstTensor view_bshd(const T* data, const Shape& shape) noexcept {
  return {data, DTypeOf<T>::value, shape, bshd_strides(shape)};
}
template <class T>
constexpr Tensor view_bshd(T* data, const Shape& shape) noexcept {
  return {data, DTypeOf<T>::value, shape, bshd_strides(shape)};
}

}  // namespace regard

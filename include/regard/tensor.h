// Views of a caller's memory: a pointer, an element type, a shape and strides.
// Logical order is always (B, H, S, D), whatever the order in memory. Strides are in elements.
// On inputs they may be zero or negative; nothing here owns or copies memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace regard {

/// Four types of numbers, then what masks (one byte, not 0 is true) and key numbers are made of.
enum class DType : std::uint8_t { f64, f32, f16, bf16, boolean, i64 };

/// "f32"; "unknown" for a value outside the enumeration.
constexpr const char* dtype_name(DType dtype) noexcept {
  constexpr const char* names[] = {"f64", "f32", "f16", "bf16", "bool", "i64"};
  return dtype <= DType::i64 ? names[int(dtype)] : "unknown";
}

/// Bytes of one element; 0 for a value outside the enumeration.
constexpr std::int64_t element_bytes(DType dtype) noexcept {
  constexpr std::int64_t bytes[] = {8, 4, 2, 2, 1, 8};
  return dtype <= DType::i64 ? bytes[int(dtype)] : 0;
}

constexpr bool is_float(DType dtype) noexcept {
  return dtype <= DType::bf16;
}

/// What the engine computes in for elements of `dtype`; also the type of LSE, weights and stats.
constexpr DType compute_type(DType dtype) noexcept {
  return dtype == DType::f64 ? DType::f64 : DType::f32;
}

/// The bits of an IEEE 754 binary16 number, and those of the upper half of a binary32 one.
/// regard/half.h converts.
struct F16 {
  std::uint16_t bits;
};
struct BF16 {
  std::uint16_t bits;
};

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
template <>
struct DTypeOf<F16> {
  static constexpr DType value = DType::f16;
};
template <>
struct DTypeOf<BF16> {
  static constexpr DType value = DType::bf16;
};
template <>
struct DTypeOf<bool> {
  static constexpr DType value = DType::boolean;
};
template <>
struct DTypeOf<std::int64_t> {
  static constexpr DType value = DType::i64;
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

/// A dense view of rank 1 to 4 aligned to the last axes, as NumPy broadcasts: rank 2 is
/// (1, 1, Sq, Skv), rank 3 (1, H, Sq, Skv). Axes before the fourth from the end are left out.
template <class T>
constexpr ConstTensor view_last_axes(const T* data, std::span<const std::int64_t> shape) noexcept {
  Shape full{1, 1, 1, 1};
  for (std::size_t n = 0; n < shape.size() && n < 4; ++n) full[3 - n] = shape[shape.size() - 1 - n];
  return view(data, full);
}

/// One number a query head (Hq), as `sinks` and `alibi_slopes` take them: (1, Hq, 1, 1).
template <class T>
constexpr ConstTensor view_per_head(const T* data, std::int64_t heads) noexcept {
  return view(data, {1, heads, 1, 1});
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

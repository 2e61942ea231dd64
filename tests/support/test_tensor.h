// A (B, H, S, D) tensor that owns its memory in a chosen layout. Guard elements stand before and
// after the data and in every gap, and the data itself starts as the same guard value, a NaN: an
// element that a kernel should not have read spoils its result, one that it should not have
// written is noticed, and so is one that it forgot to write.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "regard/half.h"
#include "regard/tensor.h"

namespace regard::test {

enum class Layout {
  bhsd,        ///< dense
  bshd,        ///< heads inside the sequence
  transposed,  ///< (B, H, D, S): D has stride S
  padded,      ///< gaps after every row, head and batch entry
  reversed,    ///< S and D have negative strides (inputs only)
};

inline constexpr Layout kInputLayouts[] = {Layout::bhsd, Layout::bshd, Layout::transposed,
                                           Layout::padded, Layout::reversed};
inline constexpr Layout kOutputLayouts[] = {Layout::bhsd, Layout::bshd, Layout::transposed,
                                            Layout::padded};

inline Strides layout_strides(const Shape& shape, Layout layout) {
  const auto [b, h, s, d] = shape;
  switch (layout) {
    case Layout::bshd:
      return bshd_strides(shape);
    case Layout::transposed:
      return {h * s * d, s * d, 1, s};
    case Layout::padded: {
      const std::int64_t row = d + 3, head = s * row + 5, entry = h * head + 7;
      return {entry, head, row, 1};
    }
    case Layout::reversed:
      return {h * s * d, s * d, -d, -1};
    case Layout::bhsd:
      break;
  }
  return dense_strides(shape);
}

inline std::int64_t element_count(const Shape& shape) {
  return shape[0] * shape[1] * shape[2] * shape[3];
}

/// Calls f(b, h, s, d) for every element of `shape` in logical order.
template <class F>
void for_each_index(const Shape& shape, const F& f) {
  for (std::int64_t b = 0; b < shape[0]; ++b)
    for (std::int64_t h = 0; h < shape[1]; ++h)
      for (std::int64_t s = 0; s < shape[2]; ++s)
        for (std::int64_t d = 0; d < shape[3]; ++d) f(b, h, s, d);
}

/// The number in another element type; double to a half type rounds to f32 on the way.
template <class U, class T>
U converted(T x) {
  if constexpr (std::is_same_v<T, F16> || std::is_same_v<T, BF16>) {
    return converted<U>(to_float(x));
  } else if constexpr (std::is_same_v<U, F16>) {
    return to_f16(float(x));
  } else if constexpr (std::is_same_v<U, BF16>) {
    return to_bf16(float(x));
  } else {
    return static_cast<U>(x);
  }
}

template <class T>
class TestTensor {
 public:
  TestTensor() : TestTensor(Shape{}) {}
  explicit TestTensor(const Shape& shape, Layout layout = Layout::bhsd)
      : shape_(shape), strides_(layout_strides(shape, layout)) {
    std::int64_t lowest = 0, highest = 0;
    for (int axis = 0; axis < 4; ++axis) {
      const std::int64_t reach = std::max<std::int64_t>(shape[axis] - 1, 0) * strides_[axis];
      (reach < 0 ? lowest : highest) += reach;
    }
    origin_ = kGuard - lowest;
    storage_.assign(std::size_t(highest - lowest + 1 + 2 * kGuard), guard());
  }

  const Shape& shape() const { return shape_; }
  const Strides& strides() const { return strides_; }
  T* data() { return storage_.data() + origin_; }
  const T* data() const { return storage_.data() + origin_; }

  T& at(std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) {
    return data()[offset(b, h, s, d)];
  }
  const T& at(std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) const {
    return data()[offset(b, h, s, d)];
  }

  Tensor tensor() { return {data(), DTypeOf<T>::value, shape_, strides_}; }
  ConstTensor view() const { return {data(), DTypeOf<T>::value, shape_, strides_}; }

  /// Every element that the view does not reach still holds the guard.
  bool canaries_intact() const {
    std::vector<bool> reached(storage_.size(), false);
    for_each_index(shape_, [&](std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) {
      reached[std::size_t(origin_ + offset(b, h, s, d))] = true;
    });
    for (std::size_t n = 0; n < storage_.size(); ++n)
      if (!reached[n] && !is_guard(storage_[n])) return false;
    return true;
  }

  /// Elements of the view that still hold the guard: what was not written yet.
  std::int64_t unwritten() const {
    std::int64_t count = 0;
    for_each_index(shape_, [&](std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) {
      count += is_guard(at(b, h, s, d));
    });
    return count;
  }

  /// Same shape and the same bits, whatever the two layouts.
  bool same_bits(const TestTensor& other) const {
    if (shape_ != other.shape_) return false;
    bool same = true;
    for_each_index(shape_, [&](std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) {
      same = same && bits(at(b, h, s, d)) == bits(other.at(b, h, s, d));
    });
    return same;
  }

  /// The same values in another layout or element type.
  template <class U = T>
  TestTensor<U> copy(Layout layout = Layout::bhsd) const {
    TestTensor<U> result(shape_, layout);
    for_each_index(shape_, [&](std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) {
      result.at(b, h, s, d) = converted<U>(at(b, h, s, d));
    });
    return result;
  }

 private:
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t,
                                  std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint16_t>>;
  static constexpr std::int64_t kGuard = 16;
  /// A quiet NaN with a payload of its own.
  static constexpr Bits kGuardBits = sizeof(T) == 8   ? Bits(0x7ff8'0dea'd0be'ef01ULL)
                                     : sizeof(T) == 4 ? Bits(0x7fc0'dea1U)
                                                      : Bits(0x7fdeU);

  static Bits bits(T value) { return std::bit_cast<Bits>(value); }
  static T guard() { return std::bit_cast<T>(kGuardBits); }
  static bool is_guard(T value) { return bits(value) == kGuardBits; }

  std::int64_t offset(std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) const {
    return b * strides_[0] + h * strides_[1] + s * strides_[2] + d * strides_[3];
  }

  Shape shape_;
  Strides strides_;
  std::int64_t origin_ = 0;
  std::vector<T> storage_;
};

}  // namespace regard::test

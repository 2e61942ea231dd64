// Memory of Python objects as views: NumPy arrays and other buffers, and whatever speaks DLPack on
// the CPU. Nothing is copied; an Array keeps its object's memory as long as it lives.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "dlpack_exchange.h"
#include "raise.h"
#include "regard/tensor.h"

namespace regard::python {

/// Element types as messages call for them.
inline constexpr const char* kFloats = "float64, float32, float16 or bfloat16";

/// Which library an object belongs to; results are made by the same.
enum class Kind : std::uint8_t { numpy, torch, other };

class Array {
 public:
  /// `made` is written, too: memory that `make` has just made.
  enum class Access : std::uint8_t { read, write, made };
  static constexpr int kMostAxes = 8;

  Array() = default;
  ~Array();
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  /// Takes hold of the memory of `object`, which messages call `name`. Call it once. Raises
  /// TypeError for what is no array on the CPU, ValueError for more than kMostAxes axes or strides
  /// that are no multiples of the element.
  void take(const char* name, nb::handle object, Access access = Access::read);

  /// The same of a fresh dense array of a library, which it gives; its axis n is axis axes[n] of
  /// `shape`.
  nb::object make(const char* name, Kind kind, const Shape& shape, std::span<const int> axes,
                  DType dtype);

  bool given() const noexcept { return object_.is_valid(); }
  nb::handle object() const noexcept { return object_; }
  Kind kind() const noexcept { return kind_; }
  int rank() const noexcept { return rank_; }
  void* data() const noexcept { return data_; }
  std::int64_t size(int axis) const noexcept { return shape_[std::size_t(axis)]; }
  std::int64_t stride(int axis) const noexcept { return strides_[std::size_t(axis)]; }
  std::span<const std::int64_t> shape() const noexcept {
    return {shape_.data(), std::size_t(rank_)};
  }

  /// The engine's name of the elements' type; where it has none raises TypeError, which says what
  /// is wanted.
  DType dtype(const char* wanted = kFloats) const;
  /// "int32", as messages say it.
  std::string type_name() const;
  /// The number at an index of a rank-1 array of integers; raises TypeError for other types.
  std::int64_t integer(std::int64_t index) const;

  /// A view with axis n of the array at place axes[n] of (B, H, S, D); other axes have size 1. The
  /// rank has to be that of `axes`.
  Tensor view(std::span<const int> axes, const char* wanted = kFloats) const;

 private:
  enum class Code : std::uint8_t { integers, naturals, floats, brain_floats, booleans, other };

  bool take_buffer(Access access);
  bool take_brain_floats(Access access);
  bool take_tensor(Access access);
  bool take_exchanged(const dlpack::ExchangeTable& table);
  bool take_dlpack(Access access);
  void take_type(int code, int bits, int lanes);
  void take_rank(std::size_t axes);

  const char* name_ = "";
  nb::object object_;
  nb::object bits_;  ///< a view of `object_` that can export its buffer
  std::optional<Py_buffer> buffer_;
  std::optional<nb::ndarray<nb::ro>> pack_;
  Kind kind_ = Kind::numpy;
  Code code_ = Code::other;
  std::string format_;  ///< of a buffer's elements that are of another type
  int bits_each_ = 0;
  int rank_ = 0;
  void* data_ = nullptr;
  std::array<std::int64_t, kMostAxes> shape_{};
  std::array<std::int64_t, kMostAxes> strides_{};
};

/// "(2, 3)" as Python writes a tuple.
std::string shape_text(std::span<const std::int64_t> shape);

}  // namespace regard::python

// What a call of attention gives back: which arrays are wanted, made and put together.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "arguments.h"
#include "array.h"
#include "options.h"
#include "regard/attention.h"

namespace regard::python {

/// The keyword `stats`: names of statistics, or a mapping from names to numbers or truth.
struct Statistics {
  bool entropy = false, key_mass = false;
  std::int64_t top_keys = 0;  ///< how many; 0: none

  void take(nb::handle value);
  bool any() const noexcept { return entropy || key_mass || top_keys != 0; }
};

/// Outputs of the engine in arrays of the caller's library.
class Results {
 public:
  Results(const Arguments& arguments, const Inputs& inputs, const OptionValues& values);

  /// Whether more than `out` is wanted.
  bool more() const noexcept { return more_; }
  /// The arrays that are wanted, made. Raises MemoryError where they cannot be.
  const Outputs& make();
  /// The same without memory, for `explain`, which touches none.
  const Outputs& pretend();
  /// The array `out`, or a Result where more was asked for.
  nb::object take();

 private:
  enum Place : std::uint8_t { out, lse, weights, entropy, top_weights, top_keys, key_mass };
  static constexpr std::size_t kCount = key_mass + 1;

  struct Wanted {
    bool is = false;
    DType dtype = DType::f32;
    Shape shape{};
    std::span<const int> axes;
    Array array;
    nb::object object;
  };

  void want(Place place, const Shape& shape, DType dtype, std::span<const int> axes);
  nb::object finished(Place place);

  const Inputs& inputs_;
  bool more_ = false;  ///< a Result, not an array alone
  Statistics statistics_;
  nb::handle given_out_, out_dtype_;
  std::array<Wanted, kCount> wanted_;
  Outputs outputs_;
};

}  // namespace regard::python

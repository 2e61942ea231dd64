// The options of a call of attention, read from Python's arguments.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "arguments.h"
#include "array.h"
#include "regard/options.h"

namespace regard::python {

enum class Layout : std::uint8_t { bhsd, bshd };
Layout layout_of(nb::handle value);

/// Where the axes of an array of `rank` 2 to 4 stand in (B, H, S, D).
std::span<const int> tensor_axes(int rank, Layout layout);

/// Arrays q, k, v of one call, as views.
struct Inputs {
  Array q_array, k_array, v_array;
  Layout layout = Layout::bhsd;
  Tensor q, k, v;

  /// Raises ValueError for ranks other than 2 to 4, or that differ.
  void take(const Arguments& arguments);
  int rank() const noexcept { return q_array.rank(); }
};

/// Options with the memory that they point to.
struct OptionValues {
  Options options;
  Array bias, mask, alibi_slopes, sinks;
  std::vector<std::int64_t> q_offset, q_len, kv_len, rows;

  /// Everything that `arguments` has of them. `causal=True` needs Sq and Skv, to be sure of what it
  /// means.
  void take(const Arguments& arguments, std::int64_t sq, std::int64_t skv);
};

/// Integers of an argument: one int, a sequence of ints, or an array of integers of rank 0 or 1.
std::vector<std::int64_t> integers(Name name, nb::handle value);

/// A float type by its name ("float32" or "f32"), a NumPy or torch dtype, or a NumPy scalar type.
DType float_type(Name name, nb::handle value);

/// Raises ValueError where `out_dtype` is given and is not `found`, the type of the array `out`.
void require_type_of_out(nb::handle out_dtype, DType found);

}  // namespace regard::python

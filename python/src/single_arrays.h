// Arrays beside q, k and v: results that are judged or merged, and tokens of a cache.
#pragma once

#include <span>

#include "array.h"
#include "options.h"
#include "regard/tensor.h"

namespace regard::python {

/// Where the axes of (B, H, S), of tensors of `rank`, stand in (B, H, S, D); so do those of an LSE
/// in either layout.
std::span<const int> lse_axes(int rank);

/// What `array` takes from `object`, as a view. All raise ValueError, naming the argument, where it
/// has not the rank of q, or, for the LSE, one axis less. `name` has to live as long as `array`.
Tensor take_out(const char* name, nb::handle object, int rank, Layout layout, Array& array,
                Array::Access access = Array::Access::read);
Tensor take_lse(const char* name, nb::handle object, int rank, Array& array,
                Array::Access access = Array::Access::read);
Tensor take_weights(nb::handle object, int rank, Array& array);

/// An array of rank 2 to 4, in the axes of its rank.
Tensor take_any(const char* name, nb::handle object, Layout layout, Array& array,
                Array::Access access = Array::Access::read);

}  // namespace regard::python

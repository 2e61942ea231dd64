#include "single_arrays.h"

#include <string>

#include "raise.h"

namespace regard::python {
namespace {

constexpr int kRows[] = {0, 1, 2};

Tensor take_axes(const char* name, nb::handle object, std::span<const int> axes, Array& array,
                 Array::Access access) {
  array.take(name, object, access);
  if (std::size_t(array.rank()) != axes.size()) {
    raise(PyExc_ValueError, std::string(name) + ": rank " + std::to_string(array.rank()) +
                                " of shape " + shape_text(array.shape()) + " where " +
                                std::to_string(axes.size()) + " is needed");
  }
  return array.view(axes);
}

}  // namespace

std::span<const int> lse_axes(int rank) {
  return std::span(kRows).subspan(std::size_t(4 - rank));
}

Tensor take_out(const char* name, nb::handle object, int rank, Layout layout, Array& array,
                Array::Access access) {
  return take_axes(name, object, tensor_axes(rank, layout), array, access);
}

Tensor take_lse(const char* name, nb::handle object, int rank, Array& array, Array::Access access) {
  return take_axes(name, object, lse_axes(rank), array, access);
}

Tensor take_weights(nb::handle object, int rank, Array& array) {
  return take_axes("weights", object, tensor_axes(rank, Layout::bhsd), array, Array::Access::read);
}

Tensor take_any(const char* name, nb::handle object, Layout layout, Array& array,
                Array::Access access) {
  array.take(name, object, access);
  if (array.rank() < 2 || array.rank() > 4) {
    raise(PyExc_ValueError, std::string(name) + ": rank " + std::to_string(array.rank()) +
                                " of shape " + shape_text(array.shape()) + " is not 2, 3 or 4");
  }
  return array.view(tensor_axes(array.rank(), layout));
}

}  // namespace regard::python

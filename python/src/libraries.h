// The array libraries that results are made with. NumPy is always there; others only once the
// caller has given something of theirs.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <span>

#include "array.h"
#include "dlpack_exchange.h"
#include "regard/tensor.h"

namespace regard::python {

/// NumPy's array type.
PyTypeObject* numpy_array_type();

/// Whether an object is a bool of Python or NumPy.
bool is_bool(nb::handle object);

/// What is known of a type whose objects speak DLPack.
struct TensorType {
  PyTypeObject* type = nullptr;
  Kind kind = Kind::other;
  const dlpack::ExchangeTable* table = nullptr;  ///< null where it has none that can be used
};

/// The table of a tensor type; null where it has none of this major version.
const dlpack::ExchangeTable* exchange_table(nb::handle type);

/// Looked up once for each type; the last few are remembered.
TensorType tensor_type(nb::handle object);

/// torch.get_num_threads()
int torch_threads();

/// What a torch tensor says of itself.
bool requires_grad(nb::handle tensor);
bool is_neg(nb::handle tensor);

/// Raises ValueError where a torch tensor needs a gradient now.
void refuse_gradient(const char* name, nb::handle tensor);

/// Raises ValueError where a torch tensor's numbers are the negatives of what its memory holds.
void refuse_negated(const char* name, nb::handle tensor);

/// Imports NumPy and looks up what calls need; once, when the module is imported.
void load_numpy();

/// A fresh array: numpy.empty or torch.empty; for other libraries memory of this module's own, to
/// be passed to `from_memory` once the call has filled it.
nb::object empty_array(Kind kind, std::span<const std::int64_t> shape, DType dtype);

/// What namespace(like).from_dlpack makes of `memory`, where `like` says its namespace as the array
/// API standard asks (JAX does); else the same as a NumPy array.
nb::object from_memory(nb::handle like, nb::object memory);

}  // namespace regard::python

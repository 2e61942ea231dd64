#include "torch_call.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "arguments.h"
#include "call.h"
#include "dlpack_exchange.h"
#include "libraries.h"
#include "raise.h"
#include "regard/attention.h"

namespace regard::python {
namespace {

/// What is PyTorch's; never freed, as the interpreter may end before what would free it.
struct Torch {
  PyObject* tensor;
  PyObject* parameter;
  PyObject* empty_like;
  const dlpack::ExchangeTable* table;
};
Torch torch{};

/// Stands for the memory of an empty tensor, which PyTorch leaves null.
alignas(64) constexpr char kNothing[64] = {};

/// The type of `view`'s elements; none where the engine has no such.
std::optional<DType> dtype_of(const dlpack::Tensor& view) {
  if (view.lanes != 1) return {};
  const std::pair<int, int> kind{view.code, view.bits};
  if (kind == std::pair<int, int>{dlpack::kFloat, 32}) return DType::f32;
  if (kind == std::pair<int, int>{dlpack::kBfloat, 16}) return DType::bf16;
  if (kind == std::pair<int, int>{dlpack::kFloat, 16}) return DType::f16;
  if (kind == std::pair<int, int>{dlpack::kFloat, 64}) return DType::f64;
  if (kind == std::pair<int, int>{dlpack::kBool, 8}) return DType::boolean;
  return {};
}

/// A tensor of rank 2 to 4 as (B, H, S, D), and its rank; rank 0 where that cannot be.
struct View {
  ConstTensor tensor;
  int rank = 0;
};

View as_four_axes(const dlpack::Tensor& view) {
  const std::optional<DType> dtype = dtype_of(view);
  if (!dtype || view.device_type != dlpack::kCpu || view.ndim < 2 || view.ndim > 4) return {};
  View result{{.dtype = *dtype, .shape = {1, 1, 1, 1}}, view.ndim};
  ConstTensor& tensor = result.tensor;
  std::copy_n(view.shape, view.ndim, tensor.shape.end() - view.ndim);
  std::copy_n(view.strides, view.ndim, tensor.strides.end() - view.ndim);
  if (view.data) {
    tensor.data = static_cast<const char*>(view.data) + view.byte_offset;
  } else if (std::ranges::find(tensor.shape, 0) != tensor.shape.end()) {
    tensor.data = kNothing;
  } else {
    return {};  // a tensor that has a shape but no memory: the tracers' kind
  }
  return result;
}

/// Other classes, what has no memory, and what is to be negated when read: rank 0.
View view_of(nb::handle object) {
  const nb::handle type = object.type();
  if (!type.is(torch.tensor) && !type.is(torch.parameter)) return {};
  dlpack::Tensor view;
  if (torch.table->view_of(object.ptr(), &view) != 0) {
    PyErr_Clear();
    return {};
  }
  return is_neg(object) ? View{} : as_four_axes(view);
}

/// Whether the engine takes the three without broadcasting.
bool fit(const View& q, const View& k, const View& v, bool enable_gqa) {
  if (q.rank == 0 || k.rank != q.rank || v.rank != q.rank) return false;
  if (enable_gqa && q.rank < 3) return false;
  const Shape &a = q.tensor.shape, &b = k.tensor.shape, &c = v.tensor.shape;
  return is_float(q.tensor.dtype) && k.tensor.dtype == q.tensor.dtype &&
         v.tensor.dtype == q.tensor.dtype && b[0] == a[0] && c[0] == a[0] && b[1] == c[1] &&
         (b[1] == a[1] || (enable_gqa && b[1] > 0 && a[1] % b[1] == 0)) && a[3] > 0 &&
         b[2] == c[2] && b[3] == a[3] && c[3] > 0;
}

/// PyTorch has bool masks, and floats of f32 or the type of the query.
bool take_mask(const View& mask, const View& q, Options& options) {
  if (mask.rank == 0 || mask.rank > q.rank) return false;
  const DType kind = mask.tensor.dtype;
  if (kind != DType::boolean && kind != DType::f32 && kind != q.tensor.dtype) return false;
  (kind == DType::boolean ? options.mask : options.bias) = mask.tensor;
  return true;
}

struct Place {
  enum Index { query, key, value, mask, out, causal, scale, gqa, gradients, all };
};

bool needs_gradients(PyObject* const* in) {
  if (in[Place::gradients] != Py_True) return false;
  for (const int place : {Place::query, Place::key, Place::value, Place::mask}) {
    if (in[place] != Py_None && requires_grad(in[place])) return true;
  }
  return false;
}

nb::object attention(PyObject* const* in) {
  const View q = view_of(in[Place::query]);
  const View k = view_of(in[Place::key]);
  const View v = view_of(in[Place::value]);
  const bool enable_gqa = truth(in[Place::gqa]);
  if (!fit(q, k, v, enable_gqa)) return nb::none();
  Options options;
  if (in[Place::mask] != Py_None && !take_mask(view_of(in[Place::mask]), q, options))
    return nb::none();
  if (needs_gradients(in)) return nb::none();
  if (truth(in[Place::causal])) options.causal = Causal::top_left;
  if (in[Place::scale] != Py_None) options.scale = number(Name::scale, in[Place::scale]);
  const Context& context = serving(Kind::torch, options);

  nb::object out = nb::borrow(in[Place::out]);
  if (out.is_none()) {
    if (v.tensor.shape[3] != q.tensor.shape[3]) return nb::none();
    out = nb::steal(checked(PyObject_CallOneArg(torch.empty_like, in[Place::query])));
  }
  const ConstTensor to = view_of(out).tensor;
  Outputs outputs;
  outputs.out = {const_cast<void*>(to.data), to.dtype, to.shape, to.strides};
  run_engine([&](std::function<bool()> cancel) {
    options.cancel = std::move(cancel);
    return forward(context, q.tensor, k.tensor, v.tensor, outputs, options);
  });
  return out;
}

PyObject* torch_attention(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  return entry([&] {
    if (count != Place::all || !torch.table) {
      raise(PyExc_TypeError, "torch_attention: regard.torch calls it with 9 arguments");
    }
    return attention(arguments).release().ptr();
  });
}

PyObject* torch_load(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  return entry([&] {
    if (count != 3) raise(PyExc_TypeError, "torch_load: regard.torch calls it with 3 arguments");
    const dlpack::ExchangeTable* const table = exchange_table(arguments[0]);
    if (!table) {
      raise(PyExc_ImportError,
            "regard.torch: this PyTorch is older than 2.10, the first with "
            "DLPack's exchange table");
    }
    torch = {.tensor = Py_NewRef(arguments[0]),
             .parameter = Py_NewRef(arguments[1]),
             .empty_like = Py_NewRef(arguments[2]),
             .table = table};
    return Py_NewRef(Py_None);
  });
}

PyCFunction fast(PyObject* (*function)(PyObject*, PyObject* const*, Py_ssize_t)) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

}  // namespace

void add_torch(nb::module_& module) {
  static PyMethodDef methods[] = {
      {"torch_attention", fast(torch_attention), METH_FASTCALL, "See regard.torch."},
      {"torch_load", fast(torch_load), METH_FASTCALL, "See regard.torch."},
      {nullptr, nullptr, 0, nullptr}};
  checked(PyModule_AddFunctions(module.ptr(), methods));
}

}  // namespace regard::python

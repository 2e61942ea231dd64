#include "libraries.h"

#include <array>
#include <memory>
#include <new>
#include <string>

#include "arguments.h"

namespace regard::python {
namespace {

constexpr std::size_t kTypes = std::size_t(DType::i64) + 1;
constexpr std::size_t kAlignment = 64;

/// A library's function `empty` and its types, in the order of DType; bf16 of NumPy is found when
/// it is first asked for.
struct Library {
  PyObject* empty = nullptr;
  PyObject* keywords = nullptr;  ///< ("dtype",), or ("dtype", "device")
  PyObject* device = nullptr;    ///< of the CPU, where the library has others
  std::array<PyObject*, kTypes> dtypes{};
};

PyTypeObject* array_type = nullptr;
PyTypeObject* bool_type = nullptr;
Library numpy, torch;
PyObject* requires_grad_name = nullptr;
PyObject* is_neg_name = nullptr;
PyObject* is_grad_enabled = nullptr;  ///< torch's functions
PyObject* get_num_threads = nullptr;
std::array<TensorType, 4> tensor_types;
std::size_t next_type = 0;

void load_torch() {
  const nb::module_ module = nb::module_::import_("torch");
  constexpr const char* names[kTypes] = {"float64",  "float32", "float16",
                                         "bfloat16", "bool",    "int64"};
  for (std::size_t n = 0; n < kTypes; ++n) {
    torch.dtypes[n] = nb::object(module.attr(names[n])).release().ptr();
  }
  torch.keywords = nb::make_tuple("dtype", "device").release().ptr();
  torch.device = nb::str("cpu").release().ptr();
  torch.empty = nb::object(module.attr("empty")).release().ptr();
  is_grad_enabled = nb::object(module.attr("is_grad_enabled")).release().ptr();
  get_num_threads = nb::object(module.attr("get_num_threads")).release().ptr();
}

bool is_torch(PyTypeObject* type) {
  const nb::dict modules = nb::module_::import_("sys").attr("modules");
  const nb::object module = modules.attr("get")("torch");
  if (module.is_none() || !nb::hasattr(module, "Tensor")) return false;
  const nb::object tensor = module.attr("Tensor");
  return PyObject_IsSubclass(reinterpret_cast<PyObject*>(type), tensor.ptr()) == 1;
}

PyObject* type_object(Library& library, DType dtype) {
  PyObject*& found = library.dtypes[std::size_t(dtype)];
  if (!found) {
    const nb::module_ types = nb::module_::import_("ml_dtypes");
    found = nb::module_::import_("numpy").attr("dtype")(types.attr("bfloat16")).release().ptr();
  }
  return found;
}

nb::object shape_tuple(std::span<const std::int64_t> shape) {
  nb::object tuple = nb::steal(checked(PyTuple_New(Py_ssize_t(shape.size()))));
  for (std::size_t n = 0; n < shape.size(); ++n) {
    PyTuple_SET_ITEM(tuple.ptr(), Py_ssize_t(n), checked(PyLong_FromLongLong(shape[n])));
  }
  return tuple;
}

nb::object call_empty(Library& library, std::span<const std::int64_t> shape, DType dtype) {
  const nb::object tuple = shape_tuple(shape);
  PyObject* const arguments[] = {tuple.ptr(), type_object(library, dtype), library.device};
  return nb::steal(checked(PyObject_Vectorcall(library.empty, arguments, 1, library.keywords)));
}

nb::dlpack::dtype dlpack_type(DType dtype) {
  using nb::dlpack::dtype_code;
  dtype_code code = dtype_code::Float;
  if (dtype == DType::bf16) code = dtype_code::Bfloat;
  if (dtype == DType::boolean) code = dtype_code::Bool;
  if (dtype == DType::i64) code = dtype_code::Int;
  return {std::uint8_t(code), std::uint8_t(8 * element_bytes(dtype)), 1};
}

/// Memory of this module behind DLPack, freed with the last object that shows it.
nb::object own_memory(std::span<const std::int64_t> shape, DType dtype) {
  std::int64_t bytes = element_bytes(dtype);
  std::array<std::size_t, Array::kMostAxes> sizes{};
  for (std::size_t n = 0; n < shape.size(); ++n) {
    sizes[n] = std::size_t(shape[n]);
    if (__builtin_mul_overflow(bytes, shape[n], &bytes)) throw std::bad_alloc();
  }
  void* const memory = ::operator new (std::size_t(bytes), std::align_val_t{kAlignment});
  const nb::capsule owner(
      memory, [](void* data) noexcept { ::operator delete (data, std::align_val_t{kAlignment}); });
  const nb::ndarray<nb::array_api> array(memory, shape.size(), sizes.data(), owner, nullptr,
                                         dlpack_type(dtype), nb::device::cpu::value);
  return nb::cast(array);
}

}  // namespace

PyTypeObject* numpy_array_type() {
  return array_type;
}

bool is_bool(nb::handle object) {
  return PyBool_Check(object.ptr()) || Py_TYPE(object.ptr()) == bool_type;
}

const dlpack::ExchangeTable* exchange_table(nb::handle type) {
  if (!nb::hasattr(type, "__dlpack_c_exchange_api__")) return nullptr;
  const nb::object capsule = type.attr("__dlpack_c_exchange_api__");
  if (!PyCapsule_IsValid(capsule.ptr(), dlpack::kExchangeCapsule)) return nullptr;
  const auto* table = static_cast<const dlpack::ExchangeTable*>(
      PyCapsule_GetPointer(capsule.ptr(), dlpack::kExchangeCapsule));
  return table->header.major == dlpack::kMajorVersion && table->view_of ? table : nullptr;
}

TensorType tensor_type(nb::handle object) {
  PyTypeObject* const type = Py_TYPE(object.ptr());
  for (const TensorType& known : tensor_types) {
    if (known.type == type) return known;
  }
  nb::object kept = nb::borrow(reinterpret_cast<PyObject*>(type));
  const TensorType found = {type, is_torch(type) ? Kind::torch : Kind::other, exchange_table(kept)};
  // A type that is remembered is kept alive, or another could take its address. What runs Python
  // comes before and after.
  TensorType& place = tensor_types[next_type++ % tensor_types.size()];
  const nb::object before = nb::steal(reinterpret_cast<PyObject*>(place.type));
  place = found;
  kept.release();
  return found;
}

bool requires_grad(nb::handle tensor) {
  return truth(nb::steal(checked(PyObject_GetAttr(tensor.ptr(), requires_grad_name))));
}

bool is_neg(nb::handle tensor) {
  return truth(nb::steal(checked(PyObject_CallMethodNoArgs(tensor.ptr(), is_neg_name))));
}

void refuse_gradient(const char* name, nb::handle tensor) {
  if (!requires_grad(tensor)) return;
  if (!torch.empty) load_torch();
  if (!truth(nb::steal(checked(PyObject_CallNoArgs(is_grad_enabled))))) return;
  raise(PyExc_ValueError, std::string(name) +
                              ": it needs a gradient, and there is no backward "
                              "pass yet; call under torch.no_grad()");
}

int torch_threads() {
  if (!torch.empty) load_torch();
  return int(PyLong_AsLong(nb::steal(checked(PyObject_CallNoArgs(get_num_threads))).ptr()));
}

void refuse_negated(const char* name, nb::handle tensor) {
  if (!is_neg(tensor)) return;
  raise(PyExc_ValueError, std::string(name) +
                              ": its memory holds the negatives of its numbers, as after conj(); "
                              "pass resolve_neg() of it");
}

void load_numpy() {
  const nb::module_ module = nb::module_::import_("numpy");
  array_type = reinterpret_cast<PyTypeObject*>(nb::object(module.attr("ndarray")).release().ptr());
  bool_type = reinterpret_cast<PyTypeObject*>(nb::object(module.attr("bool_")).release().ptr());
  numpy.empty = nb::object(module.attr("empty")).release().ptr();
  constexpr const char* names[kTypes] = {"float64", "float32", "float16", nullptr, "bool", "int64"};
  for (std::size_t n = 0; n < kTypes; ++n) {
    if (names[n]) numpy.dtypes[n] = module.attr("dtype")(names[n]).release().ptr();
  }
  requires_grad_name = checked(PyUnicode_InternFromString("requires_grad"));
  is_neg_name = checked(PyUnicode_InternFromString("is_neg"));
  numpy.keywords = nb::make_tuple("dtype").release().ptr();
}

nb::object empty_array(Kind kind, std::span<const std::int64_t> shape, DType dtype) {
  if (kind == Kind::other) return own_memory(shape, dtype);
  if (kind == Kind::numpy) return call_empty(numpy, shape, dtype);
  if (!torch.empty) load_torch();
  return call_empty(torch, shape, dtype);
}

nb::object from_memory(nb::handle like, nb::object memory) {
  if (nb::hasattr(like, "__array_namespace__")) {
    return like.attr("__array_namespace__")().attr("from_dlpack")(memory);
  }
  return nb::module_::import_("numpy").attr("from_dlpack")(memory);
}

}  // namespace regard::python

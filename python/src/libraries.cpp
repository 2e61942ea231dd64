#include "libraries.h"

#include <array>
#include <memory>
#include <new>

namespace regard::python {
namespace {

constexpr std::size_t kTypes = std::size_t(DType::i64) + 1;
constexpr std::size_t kAlignment = 64;

/// A library's function `empty` and its types, in the order of DType; bf16 of NumPy is found when
/// it is first asked for.
struct Library {
  PyObject* empty = nullptr;
  std::array<PyObject*, kTypes> dtypes{};
};

PyTypeObject* array_type = nullptr;
Library numpy, torch;
PyObject* dtype_keyword = nullptr;  ///< ("dtype",)

void load_torch() {
  const nb::module_ module = nb::module_::import_("torch");
  constexpr const char* names[kTypes] = {"float64",  "float32", "float16",
                                         "bfloat16", "bool",    "int64"};
  for (std::size_t n = 0; n < kTypes; ++n) {
    torch.dtypes[n] = nb::object(module.attr(names[n])).release().ptr();
  }
  torch.empty = nb::object(module.attr("empty")).release().ptr();
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
  PyObject* const arguments[] = {tuple.ptr(), type_object(library, dtype)};
  return nb::steal(checked(PyObject_Vectorcall(library.empty, arguments, 1, dtype_keyword)));
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

void load_numpy() {
  const nb::module_ module = nb::module_::import_("numpy");
  array_type = reinterpret_cast<PyTypeObject*>(nb::object(module.attr("ndarray")).release().ptr());
  numpy.empty = nb::object(module.attr("empty")).release().ptr();
  constexpr const char* names[kTypes] = {"float64", "float32", "float16", nullptr, "bool", "int64"};
  for (std::size_t n = 0; n < kTypes; ++n) {
    if (names[n]) numpy.dtypes[n] = module.attr("dtype")(names[n]).release().ptr();
  }
  dtype_keyword = nb::make_tuple("dtype").release().ptr();
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

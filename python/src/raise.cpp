#include "raise.h"

#include <string_view>
#include <utility>

namespace regard::python {
namespace {

/// The engine's sentence under the names that arguments have in Python.
std::string in_python(std::string message) {
  constexpr std::pair<std::string_view, std::string_view> names[] = {
      {"sequences.q: ", "q_starts: "}, {"sequences.kv: ", "kv_starts: "}};
  for (const auto& [engine, here] : names) {
    if (message.starts_with(engine)) message.replace(0, engine.size(), here);
  }
  return message;
}

}  // namespace

void raise(PyObject* type, const std::string& message) {
  PyErr_SetString(type, message.c_str());
  nb::raise_python_error();
}

void require(const Status& status) {
  switch (status.code()) {
    case StatusCode::ok:
      return;
    case StatusCode::invalid_argument:
      raise(PyExc_ValueError, in_python(status.message()));
    case StatusCode::unsupported:
      raise(PyExc_NotImplementedError, status.message());
    case StatusCode::out_of_memory:
      raise(PyExc_MemoryError, status.message());
    case StatusCode::cancelled:
      if (PyErr_Occurred()) nb::raise_python_error();
      raise(PyExc_KeyboardInterrupt, status.message());
    case StatusCode::io_error:
      raise(PyExc_OSError, status.message());
    case StatusCode::internal:
      break;
  }
  raise(PyExc_RuntimeError, status.message());
}

}  // namespace regard::python

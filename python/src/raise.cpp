#include "raise.h"

#include <unistd.h>

namespace regard::python {

void raise(PyObject* type, const std::string& message) {
  PyErr_SetString(type, message.c_str());
  nb::raise_python_error();
}

void wait_for_end() noexcept {
  for (;;) pause();
}

void require(const Status& status) {
  switch (status.code()) {
    case StatusCode::ok:
      return;
    case StatusCode::invalid_argument:
      raise(PyExc_ValueError, status.message());
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

// Python errors: raised as C++ exceptions inside the module, set for Python at its entry points.
#pragma once

#include <cxxabi.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>

#include "regard/status.h"

namespace regard::python {

namespace nb = nanobind;

/// Throws what becomes the Python exception `type` (PyExc_ValueError, say) with `message`.
[[noreturn]] void raise(PyObject* type, const std::string& message);

/// Throws if a call of Python's C interface failed, that is, gave null or -1.
inline PyObject* checked(PyObject* object) {
  if (!object) nb::raise_python_error();
  return object;
}
inline void checked(int result) {
  if (result < 0) nb::raise_python_error();
}

/// What a Status becomes: ValueError for invalid_argument, NotImplementedError for unsupported,
/// MemoryError for out_of_memory, the pending Python error for cancelled (KeyboardInterrupt where
/// there is none), OSError, RuntimeError for internal errors.
void require(const Status& status);

/// Counts a call against Python's recursion limit, which an array's own methods may reach through
/// it. Raises RecursionError.
struct Recursion {
  Recursion() { checked(Py_EnterRecursiveCall(" in a call of regard")); }
  ~Recursion() { Py_LeaveRecursiveCall(); }
  Recursion(const Recursion&) = delete;
  Recursion& operator=(const Recursion&) = delete;
};

/// What unwinds a daemon thread while the interpreter ends: Python before 3.14 calls pthread_exit
/// where the thread asks for the GIL. C++ would end the process for it in any destructor.
#ifdef __GLIBCXX__
using ThreadEnd = abi::__forced_unwind;
#else
struct ThreadEnd {};
#endif

/// For such a thread: waits until the process is gone.
[[noreturn]] void wait_for_end() noexcept;

/// Runs `body`, a function that gives a new reference; null with a Python error set if it throws.
template <class Body>
PyObject* entry(const Body& body) noexcept {
  try {
    const Recursion recursion;
    return body();
  } catch (ThreadEnd&) {
    wait_for_end();
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const nb::builtin_exception& error) {
    PyErr_SetString(
        error.type() == nb::exception_type::type_error ? PyExc_TypeError : PyExc_ValueError,
        error.what());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

}  // namespace regard::python

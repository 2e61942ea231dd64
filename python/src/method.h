// Arguments of methods, by name. A wrong call gets a sentence, where a method of nanobind's own
// would list the types that it takes.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace regard::python {

namespace nb = nanobind;

struct Parameter {
  const char* name;
  bool required = false;
};

/// What a method takes: the first `positional` parameters by place or by name, the others by name.
struct Method {
  const char* name;
  std::span<const Parameter> parameters;
  std::size_t positional;
};

/// Borrowed references to what a caller gave; None counts as not given.
class MethodArguments {
 public:
  static constexpr std::size_t kMost = 10;  ///< parameters of a method

  /// As Python's vectorcall convention has them. Raises TypeError as Python does.
  MethodArguments(const Method& method, PyObject* const* values, Py_ssize_t positional,
                  PyObject* names);
  /// As nanobind gives them. Both have to outlive this.
  MethodArguments(const Method& method, const nb::tuple& values, const nb::dict& words);

  /// None where it was not given. `name` is one of the parameters'.
  nb::handle operator[](const char* name) const noexcept;
  /// Raise TypeError or ValueError that says the name.
  std::int64_t integer(const char* name) const;
  std::int64_t integer(const char* name, std::int64_t otherwise) const;

 private:
  void take_places(PyObject* const* values, Py_ssize_t count);
  void take_word(nb::handle word, PyObject* value);
  void require_all() const;

  const Method& method_;
  std::array<PyObject*, kMost> given_{};
};

}  // namespace regard::python

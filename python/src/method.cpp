#include "method.h"

#include <cstring>
#include <vector>

#include "arguments.h"

namespace regard::python {

MethodArguments::MethodArguments(const Method& method, PyObject* const* values,
                                 Py_ssize_t positional, PyObject* names)
    : method_(method) {
  take_places(values, positional);
  const Py_ssize_t words = names ? PyTuple_GET_SIZE(names) : 0;
  for (Py_ssize_t n = 0; n < words; ++n) {
    take_word(PyTuple_GET_ITEM(names, n), values[positional + n]);
  }
  require_all();
}

MethodArguments::MethodArguments(const Method& method, const nb::tuple& values,
                                 const nb::dict& words)
    : method_(method) {
  take_places(PySequence_Fast_ITEMS(values.ptr()), PyTuple_GET_SIZE(values.ptr()));
  for (const auto& [word, value] : words) take_word(word, value.ptr());
  require_all();
}

void MethodArguments::take_places(PyObject* const* values, Py_ssize_t count) {
  if (std::size_t(count) > method_.positional) {
    raise_too_many(method_.name, method_.positional, count);
  }
  for (std::size_t n = 0; n < std::size_t(count); ++n) given_[n] = values[n];
}

void MethodArguments::take_word(nb::handle word, PyObject* value) {
  for (std::size_t n = 0; n < method_.parameters.size(); ++n) {
    if (PyUnicode_CompareWithASCIIString(word.ptr(), method_.parameters[n].name) != 0) continue;
    if (given_[n]) raise_given_twice(method_.name, word);
    given_[n] = value;
    return;
  }
  std::vector<const char*> names;
  for (const Parameter& parameter : method_.parameters) names.push_back(parameter.name);
  raise_unexpected(method_.name, names, word);
}

void MethodArguments::require_all() const {
  for (std::size_t n = 0; n < method_.parameters.size(); ++n) {
    const Parameter& parameter = method_.parameters[n];
    if (parameter.required && !given_[n]) raise_missing(method_.name, parameter.name);
  }
}

nb::handle MethodArguments::operator[](const char* name) const noexcept {
  for (std::size_t n = 0; n < method_.parameters.size(); ++n) {
    if (std::strcmp(method_.parameters[n].name, name) != 0) continue;
    return given_[n] ? given_[n] : Py_None;
  }
  return Py_None;
}

std::int64_t MethodArguments::integer(const char* name) const {
  return python::integer(name, (*this)[name]);
}

std::int64_t MethodArguments::integer(const char* name, std::int64_t otherwise) const {
  return (*this)[name].is_none() ? otherwise : integer(name);
}

}  // namespace regard::python

#include "keywords.h"

#include "raise.h"

namespace regard::python {
namespace {

std::vector<PyObject*> together(std::initializer_list<nb::handle> values,
                                const nb::dict& keywords) {
  std::vector<PyObject*> all;
  for (const nb::handle value : values) all.push_back(value.ptr());
  for (const auto& [name, value] : keywords) all.push_back(value.ptr());
  return all;
}

nb::object names_of(const nb::dict& keywords) {
  nb::object names = nb::steal(checked(PyTuple_New(Py_ssize_t(keywords.size()))));
  Py_ssize_t n = 0;
  for (const auto& [name, value] : keywords) {
    PyTuple_SET_ITEM(names.ptr(), n++, nb::object(nb::borrow(name)).release().ptr());
  }
  return names;
}

}  // namespace

KeywordArguments::KeywordArguments(const Signature& signature,
                                   std::initializer_list<nb::handle> values,
                                   const nb::dict& keywords)
    : values_(together(values, keywords)),
      names_(names_of(keywords)),
      arguments_(signature, values_.data(), Py_ssize_t(values.size()), names_.ptr()) {}

Question::Question(const Signature& signature, std::initializer_list<nb::handle> inputs,
                   const nb::dict& options)
    : keywords(signature, inputs, options) {
  in.take(*keywords);
  values.take(*keywords, in.q.shape[2], in.k.shape[2]);
}

}  // namespace regard::python

#include "arguments.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "raise.h"

namespace regard::python {
namespace {

constexpr std::size_t kNames = std::size_t(Name::count);
constexpr const char* kTexts[kNames] = {
    "q",      "k",         "v",          "scale",          "causal",       "q_offset",
    "window", "softcap",   "bias",       "mask",           "alibi_slopes", "sinks",
    "q_len",  "kv_len",    "precision",  "path",           "threads",      "layout",
    "out",    "out_dtype", "return_lse", "return_weights", "rows",         "weights_stage",
    "stats",  "q_starts",  "kv_starts",  "sequences",      "starts",       "parents",
};
std::array<PyObject*, kNames> interned{};

bool holds(std::span<const Name> names, Name name) {
  return std::ranges::find(names, name) != names.end();
}

/// kNames for a word that is no name here.
std::size_t find_name(PyObject* word) {
  for (std::size_t n = 0; n < kNames; ++n) {
    if (interned[n] == word) return n;
  }
  for (std::size_t n = 0; n < kNames; ++n) {
    if (PyUnicode_Compare(interned[n], word) == 0) return n;
  }
  return kNames;
}

/// "; did you mean 'scale'?" for softmax_scale, and 'causal' for casual: a name inside the word, or
/// one that agrees with most of it.
std::string suggestion(std::span<const char* const> names, nb::handle word) {
  const char* const given = PyUnicode_AsUTF8(word.ptr());
  if (!given) {  // a lone surrogate
    PyErr_Clear();
    return "";
  }
  nb::list all;
  for (const std::string_view known : names) {
    if (known.size() > 3 && std::string_view(given).find(known) != std::string_view::npos) {
      return "; did you mean '" + std::string(known) + "'?";
    }
    all.append(nb::str(known.data(), known.size()));
  }
  const nb::object like =
      nb::module_::import_("difflib").attr("get_close_matches")(word, all, 1, 0.7);
  return nb::len(like) == 0 ? "" : "; did you mean " + repr_text(like[0]) + "?";
}

[[noreturn]] void unexpected(const Signature& signature, PyObject* word) {
  std::vector<const char*> names;
  for (std::size_t n = 0; n < kNames; ++n) {
    if (signature.has_keyword(Name(n))) names.push_back(kTexts[n]);
  }
  raise_unexpected(signature.function, names, word);
}

}  // namespace

std::string repr_text(nb::handle value) {
  constexpr Py_ssize_t most = 80;
  const nb::object text = nb::repr(value);
  const Py_ssize_t length = PyUnicode_GetLength(text.ptr());
  const Py_ssize_t line = PyUnicode_FindChar(text.ptr(), '\n', 0, length, 1);
  const Py_ssize_t end = std::min(line < 0 ? length : line, most);
  const nb::object shown = nb::steal(checked(PyUnicode_Substring(text.ptr(), 0, end)));
  return nb::cast<std::string>(shown) + (end < length ? "..." : "");
}

void raise_unexpected(const char* function, std::span<const char* const> names, nb::handle word) {
  raise(PyExc_TypeError, std::string(function) + "() got an unexpected keyword argument " +
                             repr_text(word) + suggestion(names, word));
}

void raise_given_twice(const char* function, nb::handle word) {
  raise(PyExc_TypeError,
        std::string(function) + "() got multiple values for argument " + repr_text(word));
}

void raise_too_many(const char* function, std::size_t taken, Py_ssize_t given) {
  raise(PyExc_TypeError, std::string(function) + "() takes " + std::to_string(taken) +
                             " positional argument" + (taken == 1 ? "" : "s") + " but " +
                             std::to_string(given) + (given == 1 ? " was given" : " were given"));
}

void raise_missing(const char* function, const char* name) {
  raise(PyExc_TypeError, std::string(function) + "() missing required argument '" + name + "'");
}

const char* text(Name name) noexcept {
  return kTexts[std::size_t(name)];
}

void load_names() {
  for (std::size_t n = 0; n < kNames; ++n) {
    interned[n] = checked(PyUnicode_InternFromString(kTexts[n]));
  }
}

bool Signature::has_keyword(Name name) const noexcept {
  return (name >= Name::scale && name <= Name::layout) || holds(more, name);
}

bool Signature::has(Name name) const noexcept {
  return has_keyword(name) || holds(positional, name);
}

Arguments::Arguments(const Signature& signature, PyObject* const* values, Py_ssize_t positional,
                     PyObject* keywords) {
  if (positional > Py_ssize_t(signature.positional.size())) {
    raise_too_many(signature.function, signature.positional.size(), positional);
  }
  for (Py_ssize_t n = 0; n < positional; ++n) {
    given_[std::size_t(signature.positional[std::size_t(n)])] = values[n];
  }
  const Py_ssize_t words = keywords ? PyTuple_GET_SIZE(keywords) : 0;
  for (Py_ssize_t n = 0; n < words; ++n) {
    PyObject* const word = PyTuple_GET_ITEM(keywords, n);
    const std::size_t found = find_name(word);
    if (found == kNames || !signature.has(Name(found))) unexpected(signature, word);
    if (given_[found]) raise_given_twice(signature.function, word);
    given_[found] = values[positional + n];
  }
  for (const Name name : signature.positional) {
    if (!given_[std::size_t(name)]) raise_missing(signature.function, text(name));
  }
  for (PyObject*& value : given_) {
    if (value == Py_None) value = nullptr;
  }
  for (const Name name : signature.positional) {
    if (!has(name)) raise(PyExc_TypeError, std::string(text(name)) + ": None is no array");
  }
}

double number(Name name, nb::handle value) {
  const double found = PyFloat_AsDouble(value.ptr());
  if (found == -1.0 && PyErr_Occurred()) {
    const bool too_large = PyErr_ExceptionMatches(PyExc_OverflowError) != 0;
    if (!too_large && !PyErr_ExceptionMatches(PyExc_TypeError)) nb::raise_python_error();
    PyErr_Clear();
    raise(too_large ? PyExc_ValueError : PyExc_TypeError,
          std::string(text(name)) + ": " + repr_text(value) +
              (too_large ? " is beyond the largest f64" : " is no number"));
  }
  return found;
}

std::int64_t integer(const char* name, nb::handle value) {
  const nb::object index = nb::steal(PyNumber_Index(value.ptr()));
  const long long found = index.is_valid() ? PyLong_AsLongLong(index.ptr()) : -1;
  if (found != -1 || !PyErr_Occurred()) return found;
  const bool is_type = PyErr_ExceptionMatches(PyExc_TypeError) != 0;
  PyErr_Clear();
  raise(is_type ? PyExc_TypeError : PyExc_ValueError,
        std::string(name) + ": " + repr_text(value) +
            (is_type ? " is no integer" : " does not fit 64 bits"));
}

bool truth(nb::handle value) {
  if (!value.is_valid()) return false;
  const int found = PyObject_IsTrue(value.ptr());
  checked(found);
  return found != 0;
}

bool truth(Name name, nb::handle value) {
  if (!value.is_valid()) return false;
  const int found = PyObject_IsTrue(value.ptr());
  if (found >= 0) return found != 0;
  // NumPy's arrays raise ValueError, torch's tensors RuntimeError.
  if (!PyErr_ExceptionMatches(PyExc_ValueError) && !PyErr_ExceptionMatches(PyExc_TypeError) &&
      !PyErr_ExceptionMatches(PyExc_RuntimeError)) {
    nb::raise_python_error();
  }
  PyErr_Clear();
  raise(PyExc_TypeError,
        std::string(text(name)) + ": " + repr_text(value) + " is neither true nor false");
}

std::size_t choice(Name name, nb::handle value, std::span<const char* const> words) {
  if (PyUnicode_Check(value.ptr())) {
    for (std::size_t n = 0; n < words.size(); ++n) {
      if (PyUnicode_CompareWithASCIIString(value.ptr(), words[n]) == 0) return n;
    }
  }
  std::string all;
  for (const char* word : words) all += (all.empty() ? "'" : ", '") + std::string(word) + "'";
  raise(PyUnicode_Check(value.ptr()) ? PyExc_ValueError : PyExc_TypeError,
        std::string(text(name)) + ": " + repr_text(value) + " is none of " + all);
}

}  // namespace regard::python

// Arguments of functions that nanobind calls: some arrays, and options in **keywords.
#pragma once

#include <nanobind/nanobind.h>

#include <initializer_list>
#include <vector>

#include "arguments.h"
#include "options.h"

namespace regard::python {

/// Owns nothing of the caller's: `values` and `keywords` have to outlive it.
class KeywordArguments {
 public:
  KeywordArguments(const Signature& signature, std::initializer_list<nb::handle> values,
                   const nb::dict& keywords);

  const Arguments& operator*() const noexcept { return arguments_; }

 private:
  std::vector<PyObject*> values_;
  nb::object names_;  ///< a tuple
  Arguments arguments_;
};

/// What a function of q, k and v is asked: inputs and options, with their memory.
struct Question {
  KeywordArguments keywords;
  Inputs in;
  OptionValues values;

  Question(const Signature& signature, std::initializer_list<nb::handle> inputs,
           const nb::dict& options);
};

}  // namespace regard::python

// regard._core.attention_varlen and merge: attention of many sequences at once, and of one in
// parts.
#pragma once

#include <nanobind/nanobind.h>

namespace regard::python {

/// Adds them to the module.
void add_parts(nanobind::module_& module);

}  // namespace regard::python

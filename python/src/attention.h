// regard.attention and regard.explain.
#pragma once

#include <nanobind/nanobind.h>

namespace regard::python {

/// Adds them to the module.
void add_attention(nanobind::module_& module);

}  // namespace regard::python

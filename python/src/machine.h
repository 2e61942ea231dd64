// regard._core.machine: what this machine is to the library.
#pragma once

#include <nanobind/nanobind.h>

namespace regard::python {

/// Adds it to the module.
void add_machine(nanobind::module_& module);

}  // namespace regard::python

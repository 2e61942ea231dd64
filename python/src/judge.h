// regard._core.check and oracle_attention.
#pragma once

#include <nanobind/nanobind.h>

namespace regard::python {

namespace nb = nanobind;

void add_judge(nb::module_& module);

}  // namespace regard::python

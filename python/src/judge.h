// regard._core.check, oracle_attention and report_kv.
#pragma once

#include <nanobind/nanobind.h>

namespace regard::python {

namespace nb = nanobind;

void add_judge(nb::module_& module);
void add_report(nb::module_& module);

}  // namespace regard::python

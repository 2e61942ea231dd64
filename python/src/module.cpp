// The extension module regard._core.
#include <nanobind/nanobind.h>

#include "arguments.h"
#include "attention.h"
#include "cache.h"
#include "judge.h"
#include "libraries.h"
#include "parts.h"
#include "regard/attention.h"
#include "regard/version.h"
#include "torch_call.h"

NB_MODULE(_core, module) {
  namespace nb = nanobind;
  using regard::Explanation;
  // A cache that a daemon thread uses is alive at the end of the process; that is no leak.
  nb::set_leak_warnings(false);
  regard::python::load_names();
  regard::python::load_numpy();
  module.attr("__version__") = regard::kVersion;
  nb::class_<Explanation>(module, "Explanation", "How a call would be served.")
      .def_prop_ro("path", [](const Explanation& e) { return regard::path_name(e.path); })
      .def_ro("path_reason", &Explanation::path_reason)
      .def_ro("unit", &Explanation::unit)
      .def_ro("isa", &Explanation::isa)
      .def_ro("isa_reason", &Explanation::isa_reason)
      .def_ro("threads", &Explanation::threads)
      .def_ro("rows_per_tile", &Explanation::rows_per_tile)
      .def_ro("keys_per_tile", &Explanation::keys_per_tile)
      .def_ro("keys_per_block", &Explanation::keys_per_block)
      .def_ro("rows_per_item", &Explanation::rows_per_item)
      .def_ro("main_items", &Explanation::main_items)
      .def_ro("weights_items", &Explanation::weights_items)
      .def_ro("mass_items", &Explanation::mass_items)
      .def_ro("tiles_visited", &Explanation::tiles_visited)
      .def_ro("tiles_total", &Explanation::tiles_total)
      .def_ro("scratch_bytes", &Explanation::scratch_bytes)
      .def_ro("passes", &Explanation::passes)
      .def_ro("score_reason", &Explanation::score_reason)
      .def_ro("input_reason", &Explanation::input_reason)
      .def("__str__", &regard::to_text);
  regard::python::add_attention(module);
  regard::python::add_parts(module);
  regard::python::add_judge(module);
  regard::python::add_report(module);
  regard::python::add_cache(module);
  regard::python::add_decode(module);
  regard::python::add_torch(module);
}

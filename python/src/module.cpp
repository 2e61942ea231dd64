// The extension module regard._core.
#include <nanobind/nanobind.h>

#include "arguments.h"
#include "attention.h"
#include "cache.h"
#include "judge.h"
#include "libraries.h"
#include "machine.h"
#include "parts.h"
#include "regard/attention.h"
#include "regard/version.h"
#include "torch_call.h"

namespace {

namespace nb = nanobind;
using regard::Explanation;

void add_sizes(nb::class_<Explanation>& type) {
  type.def_ro("rows_per_tile", &Explanation::rows_per_tile,
              "Query rows computed together, lanes included.")
      .def_ro("keys_per_tile", &Explanation::keys_per_tile, "Keys computed together.")
      .def_ro("keys_per_block", &Explanation::keys_per_block,
              "Keys between two visits of the accumulators.")
      .def_ro("rows_per_item", &Explanation::rows_per_item, "Query rows of one work item.")
      .def_ro("main_items", &Explanation::main_items, "Work items of all rows.")
      .def_ro("weights_items", &Explanation::weights_items,
              "Work items of a pass of its own for the weights of chosen rows.")
      .def_ro("mass_items", &Explanation::mass_items, "Work items of the pass for key_mass.")
      .def_ro("tiles_visited", &Explanation::tiles_visited, "Tiles that the main items compute.")
      .def_ro("tiles_total", &Explanation::tiles_total, "Tiles if every row saw every key.")
      .def_ro("scratch_bytes", &Explanation::scratch_bytes, "Bytes of scratch during the call.");
}

void add_explanation(nb::module_& module) {
  nb::class_<Explanation> type(module, "Explanation",
                               "How a call would be served; str() is a page of text.");
  type.def_prop_ro(
          "path", [](const Explanation& e) { return regard::path_name(e.path); },
          "The loop: \"direct\", \"tiles\" or \"decode\".")
      .def_ro("path_reason", &Explanation::path_reason, "Why this loop.")
      .def_ro("unit", &Explanation::unit,
              "What multiplies q and k: \"fma\", \"dot\", \"tile\" or \"emulated tiles\".")
      .def_ro("isa", &Explanation::isa,
              "Instruction set in use; the environment variable REGARD_ISA pins one.")
      .def_ro("isa_reason", &Explanation::isa_reason, "Why this one.")
      .def_ro("threads", &Explanation::threads, "Threads that the call would use.")
      .def_ro("passes", &Explanation::passes,
              "Score tiles computed for each one visited: 1, and 1 more for each second pass that "
              "weights or statistics ask for.")
      .def_ro("score_reason", &Explanation::score_reason, "Which form of the scores runs, and why.")
      .def_ro("input_reason", &Explanation::input_reason,
              "How K and V are read: in place, or copied block by block.")
      .def("__str__", &regard::to_text);
  add_sizes(type);
}

}  // namespace

NB_MODULE(_core, module) {
  // A cache that a daemon thread uses is alive at the end of the process; that is no leak.
  nb::set_leak_warnings(false);
  regard::python::load_names();
  regard::python::load_numpy();
  module.attr("__version__") = regard::kVersion;
  add_explanation(module);
  regard::python::add_attention(module);
  regard::python::add_parts(module);
  regard::python::add_judge(module);
  regard::python::add_report(module);
  regard::python::add_cache(module);
  regard::python::add_decode(module);
  regard::python::add_machine(module);
  regard::python::add_torch(module);
}

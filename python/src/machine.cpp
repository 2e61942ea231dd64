// regard._core.machine.
#include "regard/machine.h"

#include "machine.h"
#include "raise.h"

namespace regard::python {
namespace {

nb::tuple machine() {
  MachineInfo info;
  require(describe_machine(info));
  nb::list here, elsewhere;
  for (const IsaInfo& isa : info.isas) (isa.runs_here ? here : elsewhere).append(isa.name);
  return nb::make_tuple(info.cpu, info.isa, info.isa_reason, nb::tuple(here), nb::tuple(elsewhere),
                        info.threads, info.threads_reason, info.threads_by);
}

}  // namespace

void add_machine(nb::module_& module) {
  module.def("machine", machine);
}

}  // namespace regard::python

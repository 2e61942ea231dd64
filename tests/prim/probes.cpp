#include <stdexcept>
#include <string>

#include "dispatch/dispatch.h"
#include "prim/probe.h"
#include "prim/unit_probe.h"

namespace regard {

#define REGARD_ENTRY(isa)                    \
  namespace isa {                            \
  extern const test::Probes kProbes;         \
  extern const test::UnitProbes kUnitProbes; \
  }
REGARD_ISAS
#undef REGARD_ENTRY

const test::Probes& test::probes() {
  const std::string name = dispatch::chosen().isa->name;
#define REGARD_ENTRY(isa) \
  if (name == #isa) return isa::kProbes;
  REGARD_ISAS
#undef REGARD_ENTRY
  throw std::logic_error("no probe for " + name);
}

const test::UnitProbes& test::unit_probes() {
  const std::string name = dispatch::chosen().isa->name;
#define REGARD_ENTRY(isa) \
  if (name == #isa) return isa::kUnitProbes;
  REGARD_ISAS
#undef REGARD_ENTRY
  throw std::logic_error("no probe of units for " + name);
}

}  // namespace regard

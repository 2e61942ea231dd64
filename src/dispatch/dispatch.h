// Which instruction set serves this process: one ordered list, the best last, and the override
// REGARD_ISA=<name>.
#pragma once

#include <span>
#include <string>

#include "contract/kernel_table.h"
#include "regard/status.h"

namespace regard::dispatch {

struct Isa {
  const char* name;
  const contract::KernelTable* table;  ///< its own kernels, and of those before it what it lacks
  bool (*runs_here)() noexcept;
};

/// Every ISA compiled in, from the least to the most demanding.
std::span<const Isa> isas() noexcept;

struct Choice {
  Status status;  ///< invalid_argument when REGARD_ISA names something that cannot run here
  const Isa* isa = nullptr;
  std::string reason;
};

/// Decided once, at the first call.
const Choice& chosen();

}  // namespace regard::dispatch

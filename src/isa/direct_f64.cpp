// The direct loop for f64, compiled once per ISA.
#include "isa/parts.h"
#include "kernels/fma_unit.h"
#include "kernels/mass.h"

namespace regard::REGARD_ISA {

constinit const contract::DirectKernel kDirectF64 = kDirectKernel<FmaUnit<double>>;

}  // namespace regard::REGARD_ISA

// The direct loop for f32, compiled once per ISA.
#include "isa/parts.h"
#include "kernels/fma_unit.h"
#include "kernels/mass.h"

namespace regard::REGARD_ISA {

constinit const contract::DirectKernel kDirectF32 = kDirectKernel<FmaUnit<float>>;

}  // namespace regard::REGARD_ISA

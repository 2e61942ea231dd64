// The multiply-add peak loops and the plain read, compiled once per ISA.
#include "kernels/peak.h"

#include "isa/parts.h"
#include "kernels/read_loop.h"

namespace regard::REGARD_ISA {

constinit const contract::PeakLoop kPeakF32 = kPeakLoop<float>;
constinit const contract::PeakLoop kPeakF64 = kPeakLoop<double>;
constinit const contract::ReadLoop kRead = {.run = read_bytes};

}  // namespace regard::REGARD_ISA

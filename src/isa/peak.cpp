// The multiply-add peak loops, compiled once per ISA.
#include "kernels/peak.h"

#include "isa/parts.h"

namespace regard::REGARD_ISA {

constinit const contract::PeakLoop kPeakF32 = kPeakLoop<float>;
constinit const contract::PeakLoop kPeakF64 = kPeakLoop<double>;

}  // namespace regard::REGARD_ISA

// The decode loop for f64, compiled once per complete ISA.
#include "isa/parts.h"
#include "kernels/decode.h"

namespace regard::REGARD_ISA {

constinit const contract::DecodeKernel kDecodeF64 = decode_kernel<double, AnyRows<double>>();

}  // namespace regard::REGARD_ISA

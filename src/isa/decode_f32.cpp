// The decode loop for f32, compiled once per complete ISA.
#include "isa/parts.h"
#include "kernels/decode.h"

namespace regard::REGARD_ISA {

constinit const contract::DecodeKernel kDecodeF32 = decode_kernel<float, AnyRows<float>>();

}  // namespace regard::REGARD_ISA

// The decode loop for queries, keys and values of bf16 by an ISA that multiplies their pairs.
#include "isa/parts.h"
#include "kernels/decode.h"

namespace regard::REGARD_ISA {

constinit const contract::DecodeKernel kDecodeBf16 =
    decode_kernel<float, PairedRows<contract::RowFormat::bf16>>();

}  // namespace regard::REGARD_ISA

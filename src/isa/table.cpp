// The table of one ISA: what the other files here instantiate.
#include "isa/parts.h"

namespace regard::REGARD_ISA {

extern const contract::KernelTable kTable;

constinit const contract::KernelTable kTable = {
    .direct_f32 = &kDirectF32,
    .direct_f64 = &kDirectF64,
    .tiles_bf16 = &kTilesBf16,
    .decode_f32 = &kDecodeF32,
    .decode_f64 = &kDecodeF64,
    .peak_f32 = &kPeakF32,
    .peak_f64 = &kPeakF64,
    .read = &kRead,
};

}  // namespace regard::REGARD_ISA

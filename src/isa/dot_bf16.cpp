// What the bf16 dot instruction adds to an ISA: its loop, its peak and the table.
#include "isa/parts.h"
#include "kernels/dot_unit.h"
#include "kernels/mass.h"

namespace regard::REGARD_ISA {

constinit const contract::DirectKernel kTilesBf16 = kDirectKernel<DotUnit>;

namespace {

constinit const contract::PeakLoop kPeakBf16 = kDotPeakLoop;

}  // namespace

extern const contract::KernelTable kTable;

constinit const contract::KernelTable kTable = {
    .tiles_bf16 = &kTilesBf16,
    .decode_bf16 = &kDecodeBf16,
    .peak_bf16 = &kPeakBf16,
    .peak_dot = &kPeakBf16,
};

}  // namespace regard::REGARD_ISA

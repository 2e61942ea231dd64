// What the instantiations of one ISA offer its table.
#pragma once

#include "contract/kernel_table.h"

namespace regard::REGARD_ISA {

extern const contract::DirectKernel kDirectF32;
extern const contract::DirectKernel kDirectF64;
extern const contract::DirectKernel kTilesBf16;
extern const contract::DecodeKernel kDecodeF32;
extern const contract::DecodeKernel kDecodeBf16;
extern const contract::DecodeKernel kDecodeF64;
extern const contract::PeakLoop kPeakF32;
extern const contract::PeakLoop kPeakF64;
extern const contract::ReadLoop kRead;

}  // namespace regard::REGARD_ISA

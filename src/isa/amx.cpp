// What AMX adds to an ISA: its loop, its peak and the table.
#include "kernels/mass.h"
#include "kernels/tile_unit.h"
#include "prim/tile_amx.h"

namespace regard::REGARD_ISA {
namespace {

constinit const contract::DirectKernel kTilesBf16 = kDirectKernel<TileUnit<AmxTiles>>;
constinit const contract::DecodeRequests kRequests = {.each_line = true};
constinit const contract::PeakLoop kPeakBf16 = AmxTiles::kPeak;

}  // namespace

extern const contract::KernelTable kTable;

constinit const contract::KernelTable kTable = {
    .tiles_bf16 = &kTilesBf16,
    .decode_requests = &kRequests,
    .peak_bf16 = &kPeakBf16,
};

}  // namespace regard::REGARD_ISA

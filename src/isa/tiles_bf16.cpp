// The direct loop for bf16 on emulated tiles, compiled once per complete ISA.
#include "isa/parts.h"
#include "kernels/mass.h"
#include "kernels/tile_unit.h"
#include "prim/tile_emulated.h"

namespace regard::REGARD_ISA {

constinit const contract::DirectKernel kTilesBf16 = kDirectKernel<TileUnit<EmulatedTiles>>;

}  // namespace regard::REGARD_ISA

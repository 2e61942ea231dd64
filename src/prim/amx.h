// The operations of AVX-512 with its bf16; src/prim/tile_amx.h is the unit.
#pragma once

#include "prim/avx512_bf16.h"

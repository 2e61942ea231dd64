// Everything kernels may call, for the ISA this file is compiled for.
#pragma once

#include REGARD_PRIM

#include "prim/convert.h"
#include "prim/exp2.h"
#include "prim/log.h"
#include "prim/tanh.h"

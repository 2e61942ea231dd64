// Everything kernels may call, for the ISA this file is compiled for.
#pragma once

#include REGARD_PRIM

#include "prim/convert.h"
#include "prim/exp2.h"
#include "prim/log.h"
#include "prim/tanh.h"

namespace regard::REGARD_ISA {

/// x, in a register from here on: GCC would load it again for every product that it is part of.
template <class V>
[[gnu::always_inline]] inline V in_register(V x) {
#if defined(__x86_64__)
  asm("" : "+v"(x));
#elif defined(__aarch64__)
  asm("" : "+w"(x));
#endif
  return x;
}

}  // namespace regard::REGARD_ISA

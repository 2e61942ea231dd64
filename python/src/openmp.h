// The threads that PyTorch computes with.
#pragma once

#include "regard/context.h"

namespace regard::python {

/// A context whose calls run on the threads of the OpenMP runtime that this process has loaded,
/// PyTorch's own before another's: they are awake when a model calls, while a second pool of
/// threads would compete with them for the same cores. Null where none is loaded, and in a child of
/// fork, which these runtimes do not survive. `threads` is how many CPUs there are.
const Context* openmp_context(int threads);

}  // namespace regard::python

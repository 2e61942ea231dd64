// The tensors of a .safetensors file: an 8-byte header length, a JSON header, packed data.
#pragma once

#include "io/source.h"

namespace regard::io {

/// Adds every tensor of a type of element_names.h in the order of the header. Tensors of other
/// types are checked for their place only, named and left out unless nothing else remains. The data
/// must be covered exactly: no hole, no overlap, nothing behind the last tensor.
Status read_safetensors(const Source& source, Found& found);

}  // namespace regard::io

// The array of a .npy file, or of one entry of a .npz file.
#pragma once

#include "io/npy_header.h"

namespace regard::io {

/// The data behind a header whose element type is known; its bytes must be exactly those that
/// the shape needs.
Status read_npy_data(const Source& source, NpyHeader header, Array& array);

/// Adds the array of a whole .npy file under an empty name.
Status read_npy(const Source& source, Found& found);

}  // namespace regard::io

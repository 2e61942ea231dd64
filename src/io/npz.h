// The arrays of a .npz file: a zip archive whose entries are .npy files, stored or deflated.
#pragma once

#include "io/source.h"

namespace regard::io {

/// Adds every .npy entry under its name without ".npy". Entries that are no .npy files, or whose
/// elements are of no type of element_names.h, are left out unless nothing else remains; the latter
/// are named.
/// Memory grows with what really inflates, not with what the archive says.
Status read_npz(const Source& source, Found& found);

}  // namespace regard::io

// Tells the format of a file from its first bytes; names and extensions play no part.
#pragma once

#include "io/source.h"

namespace regard::io {

/// An error when the source is empty or starts like none of the three formats.
Status detect_format(const Source& source, Format& format);

}  // namespace regard::io

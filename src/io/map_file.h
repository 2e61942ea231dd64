// Brings a file into memory: a regular file is mapped read-only, a pipe is read to its end.
// A mapped file must not be cut short while arrays refer to it; replacing it by rename is safe.
#pragma once

#include <string>

#include "io/source.h"

namespace regard::io {

/// `source.bytes` stays empty for an empty file, which is not an error here.
Status map_file(const std::string& path, Source& source);

}  // namespace regard::io

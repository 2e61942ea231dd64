// The bytes an array is read from, and the step from checked bytes to an Array.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/arrays.h"
#include "io/layout.h"

namespace regard::io {

struct Source {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;  ///< keeps `bytes` alive
  std::string origin;                 ///< what sentences call it
};

/// What a reader finds in a file.
struct Found {
  std::vector<NamedArray> arrays;
  std::vector<OtherArray> others;
};

/// Uninitialised memory aligned to a cache line.
std::shared_ptr<std::byte> aligned_bytes(std::size_t size);

/// The array at `offset` of `source`; `layout` is that of `shape`, and its bytes lie inside the
/// source. Shares the memory of the source where it is aligned to the element, else copies.
Array place_array(const Source& source, std::size_t offset, DType dtype,
                  std::vector<std::int64_t> shape, Layout layout);

}  // namespace regard::io

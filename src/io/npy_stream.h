// Produces the bytes of a .npy file from an array of any strides, a chunk at a time, so that
// writing needs no copy of the array. Version 1.0, C order, little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/arrays.h"

namespace regard::io {

/// Empty when the array can be written, else what is wrong with it.
std::string check_writable(const Array& array);

class NpyStream {
 public:
  /// `array` has passed check_writable() and outlives the stream.
  explicit NpyStream(const Array& array);

  std::int64_t total_bytes() const;

  /// Next bytes of the file, valid until the next call; empty at the end.
  std::span<const std::byte> next();

  void rewind();

 private:
  void gather(std::int64_t first, std::int64_t count);

  const std::byte* data_;
  std::int64_t element_bytes_;
  std::vector<std::int64_t> shape_;  ///< at least one axis, so that the last is a row
  std::vector<std::int64_t> strides_;
  std::int64_t elements_ = 1;
  std::string header_;
  bool header_done_ = false;
  std::int64_t elements_done_ = 0;
  std::vector<std::byte> chunk_;
};

}  // namespace regard::io

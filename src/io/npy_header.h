// The header of a .npy file: magic, version, and a Python dictionary of descr, fortran_order and
// shape (numpy.lib.format, versions 1.0 to 3.0).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/source.h"

namespace regard::io {

inline constexpr std::string_view kNpyMagic = "\x93NUMPY";

struct NpyHeader {
  std::string descr;           ///< as the file spells it
  std::optional<DType> dtype;  ///< absent when `descr` is none of element_names.h
  Order order = Order::c;
  std::vector<std::int64_t> shape;
  std::size_t data_offset = 0;
};

/// Big-endian numbers are an error.
Status parse_npy_header(const Source& source, NpyHeader& header);

}  // namespace regard::io

// The header of a .npy file: magic, version, and a Python dictionary of descr, fortran_order and
// shape (numpy.lib.format, versions 1.0 to 3.0).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/source.h"

namespace regard::io {

struct NpyHeader {
  std::string descr;           ///< as the file spells it
  std::optional<DType> dtype;  ///< absent when `descr` is none of the four types
  Order order = Order::c;
  std::vector<std::int64_t> shape;
  std::size_t data_offset = 0;
};

/// '<f8', '<f4' and '<f2' are f64, f32 and f16. bf16 is '<V2' or '|V2', two bytes of no type, as
/// numpy.save writes the bfloat16 of ml_dtypes, or 'bfloat16'. Big-endian numbers are an error.
Status parse_npy_header(const Source& source, NpyHeader& header);

}  // namespace regard::io

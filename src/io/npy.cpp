#include "io/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "io/element_names.h"
#include "io/file_error.h"

namespace regard::io {

Status read_npy_data(const Source& source, NpyHeader header, Array& array) {
  Layout layout;
  if (!lay_out(*header.dtype, header.shape, header.order, layout)) {
    return file_error(source.origin, fmt::format("an array of shape ({}) passes 2^63 bytes",
                                                 fmt::join(header.shape, ", ")));
  }
  const std::size_t present = source.bytes.size() - header.data_offset;
  if (static_cast<std::size_t>(layout.bytes) != present) {
    return file_error(source.origin, fmt::format("the header says {} bytes of data, the file has "
                                                 "{}",
                                                 layout.bytes, present));
  }
  array = place_array(source, header.data_offset, *header.dtype, std::move(header.shape),
                      std::move(layout));
  return {};
}

Status read_npy(const Source& source, Found& found) {
  NpyHeader header;
  if (Status status = parse_npy_header(source, header); !status.ok()) return status;
  if (!header.dtype) {
    found.others.push_back({"", in_quotes(header.descr)});
    return file_error(source.origin, fmt::format("its elements are {}, none of {}",
                                                 in_quotes(header.descr), npy_names()));
  }
  NamedArray named;
  Status status = read_npy_data(source, std::move(header), named.array);
  if (status.ok()) found.arrays.push_back(std::move(named));
  return status;
}

}  // namespace regard::io

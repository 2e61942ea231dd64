// What the fuzz targets share: reads bytes with one reader and looks at everything it returns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "io/layout.h"
#include "io/source.h"

namespace regard::io {

/// Ends the program where an array breaks the promises of arrays.h: data that is null or not
/// aligned. The sanitizers judge every byte that is read.
inline unsigned touch(const Array& array) {
  const auto size = static_cast<std::uintptr_t>(element_bytes(array.dtype));
  if (array.data == nullptr || reinterpret_cast<std::uintptr_t>(array.data) % size != 0) {
    std::abort();
  }
  Layout dense;
  if (!lay_out(array.dtype, array.shape, Order::c, dense)) std::abort();
  unsigned sum = 0;
  for (const std::byte byte : std::span(array.data, static_cast<std::size_t>(dense.bytes))) {
    sum += std::to_integer<unsigned>(byte);
  }
  return sum;
}

/// Memory that a file talks a reader into shows as the fuzzer's own limit: nothing catches here.
inline void fuzz_format(Status (*read)(const Source&, Found&),
                        std::span<const std::uint8_t> bytes) {
  static volatile unsigned sum = 0;
  Found found;
  const Status status = read({std::as_bytes(bytes), nullptr, "file"}, found);
  if (status.ok() && found.arrays.empty()) std::abort();
  if (!status.ok() && !status.message().starts_with("file: ")) std::abort();
  for (const NamedArray& named : found.arrays) sum = sum + touch(named.array);
}

}  // namespace regard::io

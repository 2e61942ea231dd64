// The JSON header of a .safetensors file, event by event: no tree is built, and a name, a field
// or a number that does not belong ends the reading at once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace regard::io {

struct TensorEntry {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;  ///< in bytes from the start of the data
  std::uint64_t end = 0;
};

/// Empty when sound, else what is wrong. "__metadata__" is skipped.
std::string parse_safetensors_header(std::string_view json, std::vector<TensorEntry>& entries);

}  // namespace regard::io

#include <new>
#include <utility>

#include "io/arrays.h"
#include "io/detect.h"
#include "io/file_error.h"
#include "io/map_file.h"
#include "io/npy.h"
#include "io/npz.h"
#include "io/safetensors.h"

namespace regard::io {
namespace {

Status read_source(const Source& source, std::vector<NamedArray>& arrays) {
  Format format{};
  if (Status status = detect_format(source, format); !status.ok()) return status;
  switch (format) {
    case Format::npy:
      return read_npy(source, arrays);
    case Format::npz:
      return read_npz(source, arrays);
    case Format::safetensors:
      return read_safetensors(source, arrays);
  }
  return {};
}

}  // namespace

Status read_arrays(const std::string& path, std::vector<NamedArray>& arrays) noexcept {
  try {
    Source source;
    if (Status status = map_file(path, source); !status.ok()) return status;
    std::vector<NamedArray> found;
    Status status = read_source(source, found);
    if (status.ok()) arrays = std::move(found);
    return status;
  } catch (...) {
    return memory_error(path);
  }
}

Status read_arrays(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                   std::string_view origin, std::vector<NamedArray>& arrays) noexcept {
  try {
    std::vector<NamedArray> found;
    Status status = read_source({bytes, std::move(owner), std::string(origin)}, found);
    if (status.ok()) arrays = std::move(found);
    return status;
  } catch (...) {
    return memory_error(origin);
  }
}

}  // namespace regard::io

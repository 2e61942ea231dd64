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

Status read_source(const Source& source, Found& found) {
  Format format{};
  if (Status status = detect_format(source, format); !status.ok()) return status;
  switch (format) {
    case Format::npy:
      return read_npy(source, found);
    case Format::npz:
      return read_npz(source, found);
    case Format::safetensors:
      return read_safetensors(source, found);
  }
  return {};
}

}  // namespace

Status read_arrays(const std::string& path, std::vector<NamedArray>& arrays,
                   std::vector<OtherArray>* others) noexcept {
  try {
    Source source;
    if (Status status = map_file(path, source); !status.ok()) return status;
    Found found;
    Status status = read_source(source, found);
    if (others != nullptr) *others = std::move(found.others);
    if (status.ok()) arrays = std::move(found.arrays);
    return status;
  } catch (...) {
    return memory_error(path);
  }
}

Status read_arrays(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                   std::string_view origin, std::vector<NamedArray>& arrays) noexcept {
  try {
    Found found;
    Status status = read_source({bytes, std::move(owner), std::string(origin)}, found);
    if (status.ok()) arrays = std::move(found.arrays);
    return status;
  } catch (...) {
    return memory_error(origin);
  }
}

}  // namespace regard::io

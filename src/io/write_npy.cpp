#include "io/arrays.h"
#include "io/file_error.h"
#include "io/npy_stream.h"
#include "io/unfinished_file.h"

namespace regard::io {
namespace {

Status write_stream(const std::string& path, const Array& array) {
  NpyStream stream(array);
  UnfinishedFile file;
  if (Status status = file.open(path); !status.ok()) return status;
  for (auto bytes = stream.next(); !bytes.empty(); bytes = stream.next()) {
    if (Status status = file.write(bytes); !status.ok()) return status;
  }
  return file.finish();
}

}  // namespace

Status write_npy(const std::string& path, const Array& array) noexcept {
  try {
    if (std::string fault = check_writable(array); !fault.empty()) {
      return {StatusCode::invalid_argument, path + ": " + fault};
    }
    return write_stream(path, array);
  } catch (...) {
    return memory_error(path);
  }
}

}  // namespace regard::io

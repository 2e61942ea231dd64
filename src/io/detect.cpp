#include "io/detect.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "io/file_error.h"
#include "io/npy_header.h"

namespace regard::io {
namespace {

constexpr std::string_view kZeros("\0\0\0", 3);

std::string_view first_bytes(const Source& source, std::size_t most) {
  return {reinterpret_cast<const char*>(source.bytes.data()), std::min(source.bytes.size(), most)};
}

/// An 8-byte length, whose upper bytes are zero in any file of less than 1 TB, before a JSON
/// object. Text has no zero bytes.
bool starts_like_safetensors(std::string_view start) {
  return start.size() >= 9 && start.substr(5, 3) == kZeros && start[8] == '{';
}

bool is_text(std::string_view start) {
  return std::ranges::all_of(start, [](char c) {
    const auto code = static_cast<unsigned char>(c);
    return code >= 0x20 ? code != 0x7f : c == '\n' || c == '\r' || c == '\t';
  });
}

std::string in_hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format(" {:02x}", static_cast<unsigned char>(c));
  return text;
}

}  // namespace

Status detect_format(const Source& source, Format& format) {
  const std::string_view start = first_bytes(source, 64);
  if (start.empty()) return file_error(source.origin, "the file is empty");
  if (kNpyMagic.starts_with(start.substr(0, kNpyMagic.size()))) {
    format = Format::npy;
  } else if (start.starts_with("PK\x03\x04") || start.starts_with("PK\x05\x06")) {
    format = Format::npz;
  } else if (starts_like_safetensors(start)) {
    format = Format::safetensors;
  } else if (is_text(start)) {
    return file_error(source.origin,
                      "is a text file; arrays are read from .npy, .npz and .safetensors files, "
                      "which numpy.save, numpy.savez and safetensors write");
  } else {
    return file_error(source.origin,
                      fmt::format("its first bytes,{}, are those of no .npy, .npz or .safetensors "
                                  "file",
                                  in_hex(start.substr(0, 8))));
  }
  return {};
}

}  // namespace regard::io

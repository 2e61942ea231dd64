#include "io/file_error.h"

#include <fmt/format.h>

#include <system_error>

namespace regard::io {

Status file_error(std::string_view origin, std::string_view what) {
  return {StatusCode::io_error, fmt::format("{}: {}", origin, what)};
}

Status system_error(std::string_view origin, std::string_view what, int error_number) {
  return file_error(origin,
                    fmt::format("{}: {}", what, std::generic_category().message(error_number)));
}

Status memory_error(std::string_view origin) noexcept {
  try {
    return {StatusCode::out_of_memory,
            fmt::format("{}: there is not enough memory for its arrays", origin)};
  } catch (...) {
    return {StatusCode::out_of_memory, {}};
  }
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kMostBytes = 60;
  std::string shown = "'";
  for (const char c : text.substr(0, kMostBytes)) {
    if (c >= ' ' && c <= '~') {
      shown += c;
    } else {
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  shown += text.size() > kMostBytes ? "...'" : "'";
  return shown;
}

}  // namespace regard::io

#include "text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

namespace regard::cli {

std::string shape_text(std::span<const std::int64_t> shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

std::string bytes_text(std::int64_t bytes) {
  constexpr std::array kUnits = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  double value = double(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return fmt::format("{:.4g} {}", value, kUnits[unit]);
}

std::string time_text(double seconds) {
  if (seconds >= 1) return fmt::format("{:#.4g} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:#.4g} ms", 1e3 * seconds);
  return fmt::format("{:#.4g} us", 1e6 * seconds);
}

std::string small_text(double difference) {
  return difference == 0 ? "0" : fmt::format("{:.1e}", difference);
}

std::string wrapped(const std::string& text, std::size_t width, std::size_t indent) {
  const std::string margin = fmt::format("\n{:{}}", "", indent);
  std::string result;
  std::size_t column = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = text.find_first_of(" \n", begin);
    if (end == std::string::npos) end = text.size();
    const std::size_t length = end - begin;
    if (column > 0 && column + 1 + length > width) {
      result += margin;
      column = 0;
    } else if (column > 0) {
      result += ' ';
      ++column;
    }
    result.append(text, begin, length);
    column += length;
    if (end < text.size() && text[end] == '\n') {
      result += margin;
      column = 0;
    }
    begin = end + 1;
  }
  return result;
}

}  // namespace regard::cli

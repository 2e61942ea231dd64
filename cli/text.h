// Small pieces of text that several commands print.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "regard/tensor.h"

namespace regard::cli {

/// "(1, 8, 128)", as NumPy writes shapes.
std::string shape_text(std::span<const std::int64_t> shape);
/// "48 KiB", "1.5 MiB"
std::string bytes_text(std::int64_t bytes);
/// "1.305 s", "21.03 ms", "1.934 us"
std::string time_text(double seconds);
/// A small difference: "2.2e-16", or "0" when it is nothing at all.
std::string small_text(double difference);
/// Breaks at spaces so that no line is longer than `width`; lines already broken stay so.
std::string wrapped(const std::string& text, std::size_t width, std::size_t indent);

}  // namespace regard::cli

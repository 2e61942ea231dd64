// Counts and bytes rounded up, as plans need them.
#pragma once

#include <cstdint>

#include "base/aligned_buffer.h"

namespace regard::plan {

constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) noexcept {
  return (a + b - 1) / b;
}
constexpr std::int64_t round_up(std::int64_t a, std::int64_t step) noexcept {
  return divide_up(a, step) * step;
}
/// Parts of the scratch begin on its own alignment.
constexpr std::int64_t align(std::int64_t bytes) noexcept {
  return round_up(bytes, std::int64_t{base::AlignedBuffer::kAlignment});
}

}  // namespace regard::plan

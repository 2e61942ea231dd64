// Element types as kernels know them; order and sizes are those of regard::DType.
#pragma once

#include <cstdint>

namespace regard::contract {

enum class Element : std::uint8_t { f64, f32, f16, bf16, boolean, i64 };

inline constexpr std::int64_t kElementBytes[] = {8, 4, 2, 2, 1, 8};

}  // namespace regard::contract

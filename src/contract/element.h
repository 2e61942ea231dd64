// Element types as kernels know them; the order is that of regard::DType.
#pragma once

#include <cstdint>

namespace regard::contract {

enum class Element : std::uint8_t { f64, f32, f16, bf16, boolean, i64 };

}  // namespace regard::contract

// 2^x as bf16 in 16-bit integers, for weights that are rounded to bf16 anyhow: within 2^-7.3
// (measured 0.0062) of the true power, 1.9e-3 in the root mean square (rounding to bf16
// alone: 1.7e-3), 8e-6 on average.
//
// The bits of a positive bf16, 8 of exponent and 7 of fraction, are nearly 128 (log2 + 127): the
// line 1 + f stands for 2^f, f being the fraction of x. So z = 65534.5 - 256 (x + 127), rounded and
// clamped to 16 bits, has an exponent and 8 bits of fraction; a table corrects f by 256 (1 + f -
// 2^f), and the bits are half of that. z runs downwards, so that what is too large, and NaN, which
// both convert to the least integer, end at 0: the bits of a NaN. Far below 0 it ends at 65535, the
// bits of 0.
#pragma once

#include <cstdint>

namespace regard::REGARD_ISA {

inline constexpr float kRoughScale = -256.0f;
inline constexpr float kRoughOffset = 65534.5f - 256.0f * 127.0f;
inline constexpr float kRoughNothing = 65535.0f;  ///< z of the weight 0

/// By bits 2 to 7 of z: 255 minus the correction in the middle of the stretch; 0 has none.
alignas(64) inline constexpr std::uint8_t kRoughTable[64] = {
    254, 253, 251, 250, 249, 247, 246, 245, 244, 243, 242, 241, 240, 239, 239, 238,
    237, 237, 236, 236, 235, 235, 234, 234, 234, 233, 233, 233, 233, 233, 233, 233,
    233, 233, 233, 234, 234, 234, 234, 235, 235, 236, 236, 237, 237, 238, 238, 239,
    240, 241, 241, 242, 243, 244, 245, 246, 247, 248, 249, 250, 251, 252, 253, 255};

/// The bits of the power from a clamped z.
[[gnu::always_inline]] inline std::uint16_t rough_bits(std::uint16_t z) {
  const auto line = std::uint16_t(0xff00 | kRoughTable[z >> 2 & 63]);
  return std::uint16_t(std::uint16_t(line - z) >> 1);
}

}  // namespace regard::REGARD_ISA

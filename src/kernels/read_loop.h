// The plain read: every byte loaded once, several independent chains, nothing stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "prim/prim.h"

namespace regard::REGARD_ISA {

inline void read_bytes(const std::byte* begin, std::int64_t bytes) noexcept {
  constexpr int kVectorBytes = sizeof(Simd<float>::Vector);
  constexpr int kChains = 8;
  using Bits [[gnu::vector_size(kVectorBytes)]] = std::uint64_t;
  Bits chains[kChains] = {};
  std::int64_t at = 0;
  for (; at + kChains * kVectorBytes <= bytes; at += kChains * kVectorBytes) {
#pragma GCC unroll 8
    for (int n = 0; n < kChains; ++n) {
      Bits bits;
      std::memcpy(&bits, begin + at + n * kVectorBytes, sizeof bits);
      chains[n] ^= bits;
    }
  }
  for (; at < bytes; ++at) chains[0][0] ^= std::uint64_t(begin[at]);
  Bits all = chains[0];
  for (int n = 1; n < kChains; ++n) all ^= chains[n];
  // The result must look used; the memory is this frame's own.
  asm volatile("" ::"m"(all));
}

}  // namespace regard::REGARD_ISA

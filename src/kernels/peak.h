// The multiply-add peak of one core: as many independent chains as a tile has accumulators,
// nothing but registers.
#pragma once

#include <cstdint>

#include "contract/kernel_table.h"
#include "kernels/visibility.h"
#include "prim/prim.h"

namespace regard::REGARD_ISA {

// Enough chains to hide the latency of a separate multiplication and addition (generic), few enough
// to stay in registers.
template <class T>
inline constexpr int kPeakChains = larger(12,
                                          std::int64_t{Simd<T>::kTileKeys} * Simd<T>::kTileVectors);

template <class T>
void run_peak(std::int64_t iterations) noexcept {
  typename Simd<T>::Vector a[kPeakChains<T>];
  for (auto& chain : a) chain = broadcast(T(0));
  const auto x = broadcast(T(0.999));
  const auto y = broadcast(T(1e-4));
  for (std::int64_t n = 0; n < iterations; ++n) {
#pragma GCC unroll 24
    for (auto& chain : a) chain = fma(chain, x, y);
    // Keeps the loop from being folded; costs no instruction.
    asm volatile("");
  }
  typename Simd<T>::Vector sum = broadcast(T(0));
#pragma GCC unroll 24
  for (auto& chain : a) sum = sum + chain;
  // The result must look used; the memory is this frame's own.
  asm volatile("" ::"m"(sum));
}

template <class T>
inline constexpr contract::PeakLoop kPeakLoop = {
    .run = run_peak<T>,
    .flops_per_iteration = std::int64_t{2} * Simd<T>::kLanes* kPeakChains<T>,
};

}  // namespace regard::REGARD_ISA

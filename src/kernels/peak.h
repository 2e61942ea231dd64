// The peak of one core, of multiply-adds or of dot products: as many independent chains as a tile
// has accumulators, nothing but registers.
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

/// Repeats `step`, chain by chain.
template <class T, class Step>
[[gnu::always_inline]] inline void run_chains(std::int64_t iterations, const Step& step) {
  typename Simd<T>::Vector a[kPeakChains<T>];
  for (auto& chain : a) chain = broadcast(T(0));
  for (std::int64_t n = 0; n < iterations; ++n) {
#pragma GCC unroll 24
    for (auto& chain : a) chain = step(chain);
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
void run_peak(std::int64_t iterations) noexcept {
  const auto x = broadcast(T(0.999));
  const auto y = broadcast(T(1e-4));
  run_chains<T>(iterations, [&](auto chain) { return fma(chain, x, y); });
}

template <class T>
inline constexpr contract::PeakLoop kPeakLoop = {
    .run = run_peak<T>,
    .flops_per_iteration = std::int64_t{2} * Simd<T>::kLanes* kPeakChains<T>,
};

}  // namespace regard::REGARD_ISA

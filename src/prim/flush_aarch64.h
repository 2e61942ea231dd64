// Flushes denormals to zero inside a kernel and puts the caller's mode back.
#pragma once

#include <cstdint>

namespace regard::REGARD_ISA {

class FlushDenormals {
 public:
  [[gnu::always_inline]] FlushDenormals() {
    asm volatile("mrs %0, fpcr" : "=r"(saved_));
    // Round to nearest, no traps, FZ (bit 24).
    asm volatile("msr fpcr, %0" ::"r"(std::uint64_t{1} << 24));
  }
  [[gnu::always_inline]] ~FlushDenormals() { asm volatile("msr fpcr, %0" ::"r"(saved_)); }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  std::uint64_t saved_;
};

}  // namespace regard::REGARD_ISA

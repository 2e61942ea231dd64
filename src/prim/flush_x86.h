// Flushes denormal results to zero inside a kernel and puts the caller's mode back. Denormal
// operands are still read as they are. Exceptions stay masked while the kernel runs.
#pragma once

#include <xmmintrin.h>

namespace regard::REGARD_ISA {

class FlushDenormals {
 public:
  [[gnu::always_inline]] FlushDenormals() : saved_(_mm_getcsr()) { _mm_setcsr(kKernelMode); }
  [[gnu::always_inline]] ~FlushDenormals() { _mm_setcsr(saved_); }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  // Round to nearest, all exceptions masked, flush to zero.
  static constexpr unsigned kKernelMode = _MM_MASK_MASK | _MM_FLUSH_ZERO_ON;
  unsigned saved_;
};

}  // namespace regard::REGARD_ISA

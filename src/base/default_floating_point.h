// The caller's floating-point environment (rounding, exceptions, flushing) put aside for a scope:
// neither can it reach what runs there, nor is it changed by it.
#pragma once

#include <cfenv>
#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace regard::base {

#if defined(__x86_64__)

/// fegetenv and fesetenv save and load the whole x87 unit, a quarter of the time of the smallest
/// call. Here SSE's register is put aside always, the x87's words where they are not the default.
class DefaultFloatingPoint {
 public:
  DefaultFloatingPoint() noexcept : mxcsr_(_mm_getcsr()) {
    asm volatile("fnstcw %0\n\tfnstsw %1" : "=m"(x87_control_), "=m"(x87_status_));
    if (mxcsr_ != kMxcsr) _mm_setcsr(kMxcsr);
    if (x87_control_ != kX87Control) load_x87_control(kX87Control);
  }
  ~DefaultFloatingPoint() {
    std::uint16_t status = 0;
    asm volatile("fnstsw %0" : "=m"(status));
    const int raised = status & ~x87_status_ & FE_ALL_EXCEPT;
    if (raised != 0) std::feclearexcept(raised);
    if (x87_control_ != kX87Control) load_x87_control(x87_control_);
    _mm_setcsr(mxcsr_);
  }
  DefaultFloatingPoint(const DefaultFloatingPoint&) = delete;
  DefaultFloatingPoint& operator=(const DefaultFloatingPoint&) = delete;

 private:
  static constexpr unsigned kMxcsr = _MM_MASK_MASK;     // to nearest, no traps, nothing flushed
  static constexpr std::uint16_t kX87Control = 0x037f;  // the same, 64 bits of mantissa

  static void load_x87_control(std::uint16_t control) noexcept {
    asm volatile("fldcw %0" : : "m"(control));
  }

  unsigned mxcsr_;
  std::uint16_t x87_control_ = 0;
  std::uint16_t x87_status_ = 0;
};

#else

class DefaultFloatingPoint {
 public:
  DefaultFloatingPoint() noexcept {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloatingPoint() { std::fesetenv(&saved_); }
  DefaultFloatingPoint(const DefaultFloatingPoint&) = delete;
  DefaultFloatingPoint& operator=(const DefaultFloatingPoint&) = delete;

 private:
  std::fenv_t saved_{};
};

#endif

}  // namespace regard::base

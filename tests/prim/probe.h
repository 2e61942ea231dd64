// Operations of prim applied to arrays, so that a test in baseline code can call every ISA's.
#pragma once

#include <cstdint>

namespace regard::test {

/// Counts are multiples of 16; arrays are 64-byte aligned.
template <class T>
struct Probe {
  void (*exp2)(const T* x, T* y, std::int64_t count);
  void (*round)(const T* x, T* y, std::int64_t count);
  void (*times_power_of_two)(const T* a, const T* n, T* y, std::int64_t count);
  void (*fma)(const T* a, const T* b, const T* c, T* y, std::int64_t count);
  /// y = within(lo, a, hi) ? a b + c : c
  void (*fma_within)(const T* lo, const T* hi, const T* a, const T* b, const T* c, T* y,
                     std::int64_t count);
  void (*maximum)(const T* a, const T* b, T* y, std::int64_t count);
};

struct Probes {
  Probe<float> f32;
  Probe<double> f64;
  double (*log_positive)(double x);
};

}  // namespace regard::test

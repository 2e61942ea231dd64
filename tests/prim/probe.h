// Operations of prim applied to arrays, so that a test in baseline code can call every ISA's.
#pragma once

#include <cstdint>

#include "contract/element.h"

namespace regard::test {

/// Counts are multiples of 16; arrays are 64-byte aligned.
template <class T>
struct Probe {
  void (*exp2)(const T* x, T* y, std::int64_t count);
  void (*round)(const T* x, T* y, std::int64_t count);
  void (*times_power_of_two)(const T* a, const T* n, T* y, std::int64_t count);
  void (*fma)(const T* a, const T* b, const T* c, T* y, std::int64_t count);
  /// y = bit n of `lanes` ? a b + c : c, at most 64 elements
  void (*fma_where)(std::uint64_t lanes, const T* a, const T* b, const T* c, T* y,
                    std::int64_t count);
  void (*maximum)(const T* a, const T* b, T* y, std::int64_t count);
  void (*minimum)(const T* a, const T* b, T* y, std::int64_t count);
  void (*magnitude)(const T* x, T* y, std::int64_t count);
  void (*tanh)(const T* x, T* y, std::int64_t count);
  /// Rows of as many numbers as the ISA has lanes: the rows become columns.
  void (*transpose)(const T* x, T* y);
  std::uint64_t (*equal_lanes)(const T* a, const T* b);
  int lanes;
  /// read_elements and write_elements, called as kernels call them: flushing denormals.
  void (*read)(contract::Element type, const void* source, std::int64_t step, std::int64_t count,
               T* target);
  void (*write)(contract::Element type, const T* source, std::int64_t source_step,
                std::int64_t count, void* target, std::int64_t step);
};

/// One number at a time, flushing denormals.
struct HalfProbe {
  float (*widen)(std::uint16_t x);
  std::uint16_t (*narrow)(float x);
};

struct Probes {
  Probe<float> f32;
  Probe<double> f64;
  double (*log_positive)(double x);
  std::uint64_t (*bytes_set)(const std::uint8_t* bytes);
  HalfProbe f16;
  HalfProbe bf16;
};

/// Those of the ISA that this program runs on.
const Probes& probes();

}  // namespace regard::test

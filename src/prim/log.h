// Natural logarithm of one positive number, in f64: called once a row, for the log-sum-exp.
#pragma once

#include <bit>
#include <cstdint>

namespace regard::REGARD_ISA {

inline constexpr double kLn2 = 0.69314718055994530942;

/// ln x for x > 0 and normal, to within 2 ulp of f64 (or of ln 2 near 1); NaN and infinity stay.
/// With x = 2^n r, r in [sqrt(1/2), sqrt(2)) and z = (r - 1)/(r + 1): ln r = 2 atanh z, whose
/// series in z^2 <= 0.0295 needs eleven terms.
inline double log_positive(double x) {
  if (!(x <= 0x1.fffffffffffffp1023)) return x;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  std::int64_t n = std::int64_t(bits >> 52) - 1023;
  double r = std::bit_cast<double>((bits & 0x000fffffffffffff) | 0x3ff0000000000000);
  if (r > 1.41421356237309504880) {
    r *= 0.5;
    ++n;
  }
  const double z = (r - 1) / (r + 1);
  const double z2 = z * z;
  double series = 0;
  for (int k = 23; k >= 3; k -= 2) series = (series + 1.0 / k) * z2;
  return double(n) * kLn2 + (2 * z + 2 * z * series);
}

}  // namespace regard::REGARD_ISA

// Half types from their definition, with nothing in common with what they test: a value is
// significand times power of two, and narrowing searches all values for the nearest.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace regard::test {

struct HalfFormat {
  int exponent_bits;
  int fraction_bits;
  int infinity() const { return ((1 << exponent_bits) - 1) << fraction_bits; }
};

constexpr HalfFormat kF16Format{5, 10};
constexpr HalfFormat kBF16Format{8, 7};

/// Exact; NaN for any NaN.
inline double half_value(const HalfFormat& format, std::uint16_t bits) {
  const int exponent = (bits & 0x7fff) >> format.fraction_bits;
  const int fraction = bits & ((1 << format.fraction_bits) - 1);
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  double value = 0;
  if (exponent == (1 << format.exponent_bits) - 1) {
    value = fraction == 0 ? HUGE_VAL : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    value = std::ldexp(fraction, 1 - bias - format.fraction_bits);
  } else {
    value =
        std::ldexp(fraction + (1 << format.fraction_bits), exponent - bias - format.fraction_bits);
  }
  return bits & 0x8000 ? -value : value;
}

/// The values 0, ..., the largest finite one and, in place of infinity, the next that the format
/// would have: what lies at least half way to it rounds to infinity.
inline std::vector<double> half_values(const HalfFormat& format) {
  std::vector<double> values;
  for (int bits = 0; bits < format.infinity(); ++bits) {
    values.push_back(half_value(format, std::uint16_t(bits)));
  }
  const double last = values.back(), step = last - values[values.size() - 2];
  values.push_back(last + step);
  return values;
}

/// Nearest of `values`, as half_values gives them, ties to even; x is not NaN.
inline std::uint16_t nearest_half(const std::vector<double>& values, double x) {
  const double magnitude = std::abs(x);
  const auto above = std::lower_bound(values.begin(), values.end(), magnitude);
  int bits = int(values.size()) - 1;
  if (above != values.end()) {
    bits = int(above - values.begin());
    if (bits > 0) {
      // Exact: both differ from x by less than a step, so they have no more bits than x.
      const double up = *above - magnitude, down = magnitude - above[-1];
      if (down < up || (down == up && bits % 2 == 1)) --bits;
    }
  }
  return std::uint16_t(bits | (std::signbit(x) ? 0x8000 : 0));
}

/// Where rounding goes wrong if it does: every half value, every midpoint, their neighbours in T,
/// and beyond both ends of the range. Both signs.
template <class T>
std::vector<T> rounding_cases(const HalfFormat& format) {
  std::vector<T> cases = {0, std::numeric_limits<T>::max(), std::numeric_limits<T>::min(),
                          std::numeric_limits<T>::denorm_min(), std::numeric_limits<T>::infinity()};
  const std::vector<double> values = half_values(format);
  for (std::size_t n = 0; n + 1 < values.size(); ++n) {
    for (const double at : {values[n], values[n] / 2 + values[n + 1] / 2, values[n + 1]}) {
      const T x = T(at);
      if (!std::isfinite(x)) continue;
      cases.insert(cases.end(), {x, std::nextafter(x, T(0)), std::nextafter(x, T(HUGE_VAL))});
    }
  }
  const std::size_t positive = cases.size();
  for (std::size_t n = 0; n < positive; ++n) cases.push_back(-cases[n]);
  return cases;
}

}  // namespace regard::test

// What each KvType stores, from the definition in regard/kv_cache.h: nearest values by search among
// all there are, scales by search, multiples by the exact remainder. Shares nothing with src/cache.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "regard/kv_cache.h"
#include "support/half.h"

namespace regard::test {

inline constexpr KvType kKvTypes[] = {
    KvType::f32,  KvType::f16,     KvType::bf16,    KvType::fp8_e4m3, KvType::fp8_e5m2,
    KvType::int8, KvType::int8_32, KvType::int4_32, KvType::q8_0,     KvType::q4_0};

/// Value of an fp8 code by exponent and fraction.
inline double fp8_value(KvType type, int code) {
  const bool e4m3 = type == KvType::fp8_e4m3;
  const int fraction_bits = e4m3 ? 3 : 2, bias = e4m3 ? 7 : 15;
  const int exponent = (code & 0x7f) >> fraction_bits;
  const int fraction = code & ((1 << fraction_bits) - 1);
  const double sign = code & 0x80 ? -1 : 1;
  if (e4m3 ? (code & 0x7f) == 0x7f : exponent == 31 && fraction != 0) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (!e4m3 && exponent == 31) return sign * HUGE_VAL;
  const int significand = exponent == 0 ? fraction : fraction + (1 << fraction_bits);
  return sign * std::ldexp(significand, std::max(exponent, 1) - bias - fraction_bits);
}

/// The nearest of ascending `values` to a number from 0 on, of two as near the one of even place.
/// Midpoints are exact in double.
inline double nearest(const std::vector<double>& values, double x) {
  const auto above = std::lower_bound(values.begin(), values.end(), x);
  if (above == values.end()) return values.back();
  if (above == values.begin()) return *above;
  const double middle = above[-1] / 2 + *above / 2;
  if (x == middle) return (above - values.begin()) % 2 == 0 ? *above : above[-1];
  return x < middle ? above[-1] : *above;
}

/// 0, ..., the largest finite value of fp8.
inline std::vector<double> fp8_values(KvType type) {
  std::vector<double> values;
  for (int code = 0; code < 0x80; ++code) {
    if (std::isfinite(fp8_value(type, code))) values.push_back(fp8_value(type, code));
  }
  return values;
}

inline double stored_fp8(KvType type, double x) {
  static const std::vector<double> e4m3 = fp8_values(KvType::fp8_e4m3);
  static const std::vector<double> e5m2 = fp8_values(KvType::fp8_e5m2);
  if (std::isinf(x) && type == KvType::fp8_e4m3) return std::numeric_limits<double>::quiet_NaN();
  if (!std::isfinite(x)) return x;
  const auto& values = type == KvType::fp8_e4m3 ? e4m3 : e5m2;
  return std::copysign(nearest(values, std::abs(x)), x);
}

inline double stored_half(const HalfFormat& format, double x) {
  static const std::vector<double> f16 = half_values(kF16Format);
  static const std::vector<double> bf16 = half_values(kBF16Format);
  if (!std::isfinite(x)) return x;
  const auto bits = nearest_half(format.exponent_bits == 5 ? f16 : bf16, x);
  return half_value(format, bits);
}

/// Scale number n of those that a quantised type can have, ascending: f16, or for int8 those f32
/// whose last 8 bits are 0. Subnormal ones too.
inline double scale_value(KvType type, int n) {
  if (type != KvType::int8) return half_value(kF16Format, std::uint16_t(n));
  const int exponent = n >> 15, fraction = n & 0x7fff;
  return std::ldexp(exponent == 0 ? fraction : fraction + 0x8000, std::max(exponent, 1) - 127 - 15);
}

/// The first number below `end` of which `holds` is true, as of all behind it; else `end`.
template <class F>
int first_number(int end, const F& holds) {
  int begin = 0;
  while (begin < end) {
    const int middle = (begin + end) / 2;
    if (holds(middle)) {
      end = middle;
    } else {
      begin = middle + 1;
    }
  }
  return begin;
}

/// The number of the largest scale.
inline int last_scale(KvType type) {
  if (type != KvType::int8) return kF16Format.infinity() - 1;
  const double most = double(std::numeric_limits<float>::max()) / 127;
  return first_number(255 << 15, [&](int n) { return scale_value(type, n) > most; }) - 1;
}

/// The scale of numbers whose largest magnitude is this.
inline double least_scale(KvType type, double largest) {
  const double levels = type == KvType::int4_32 || type == KvType::q4_0 ? 7 : 127;
  const auto enough = [&](int n) {  // exact: 7 + 16 bits
    return levels * scale_value(type, n) >= largest;
  };
  return scale_value(type, first_number(last_scale(type), enough));
}

/// The multiple of `scale` that stands for x.
inline double stored_multiple(KvType type, double x, double scale) {
  const bool narrow = type == KvType::int4_32 || type == KvType::q4_0;
  if (scale == 0) return 0;
  const double steps = std::abs(x / scale) > 200
                           ? std::copysign(200, x)
                           : std::nearbyint((x - std::remainder(x, scale)) / scale);
  return scale * std::clamp(steps, narrow ? -8.0 : -127.0, narrow ? 7.0 : 127.0);
}

/// Ascending elements that share a scale, as they are read back.
inline std::vector<double> stored_quantised(KvType type, const std::vector<double>& row) {
  const std::size_t group = type == KvType::int8 ? row.size() : 32;
  std::vector<double> result;
  for (std::size_t begin = 0; begin < row.size(); begin += group) {
    double largest = 0;
    bool finite = true;
    for (std::size_t n = begin; n < begin + group; ++n) {
      finite = finite && std::isfinite(row[n]);
      largest = std::max(largest, std::abs(row[n]));
    }
    const double scale = finite ? least_scale(type, largest) : 0;
    for (std::size_t n = begin; n < begin + group; ++n) {
      result.push_back(finite ? stored_multiple(type, row[n], scale)
                              : std::numeric_limits<double>::quiet_NaN());
    }
  }
  return result;
}

/// A row of numbers as it is read back.
inline std::vector<double> stored_row(KvType type, const std::vector<double>& row) {
  if (type >= KvType::int8) return stored_quantised(type, row);
  std::vector<double> result;
  for (const double x : row) {
    if (type == KvType::f32) result.push_back(double(float(x)));
    if (type == KvType::f16) result.push_back(stored_half(kF16Format, x));
    if (type == KvType::bf16) result.push_back(stored_half(kBF16Format, x));
    if (type == KvType::fp8_e4m3 || type == KvType::fp8_e5m2) {
      result.push_back(stored_fp8(type, x));
    }
  }
  return result;
}

}  // namespace regard::test

// Sums that carry their own rounding error: the result is as good as if it had been computed in
// twice the precision and rounded once (Ogita, Rump, Oishi, Accurate Sum and Dot Product, 2005).
// Assumes round to nearest and no contraction or reassociation by the compiler.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace regard::oracle {

/// The unevaluated sum hi + lo.
struct Pair {
  double hi = 0;
  double lo = 0;

  double value() const noexcept { return hi + lo; }
};

/// hi + x without error (Knuth's two-sum): what rounding loses goes to lo.
inline void add(double& hi, double& lo, double x) noexcept {
  const double total = hi + x;
  const double taken = total - hi;
  lo += (hi - (total - taken)) + (x - taken);
  hi = total;
}
inline void add(Pair& sum, double x) noexcept {
  add(sum.hi, sum.lo, x);
}

/// scale * x, its rounding error included; hi is the nearest double to the whole.
inline Pair multiply(double scale, Pair x) noexcept {
  const double product = scale * x.hi;
  Pair result{product, 0};
  add(result, std::fma(scale, x.hi, -product) + scale * x.lo);
  return result;
}

/// Rows are padded with zeros to a multiple of this: independent sums that fill vector registers.
inline constexpr std::int64_t kLanes = 8;

struct Dot {
  Pair value;
  double magnitude = 0;  ///< sum |x y|, plainly summed
};

/// Dot product of two padded rows. `kExactProducts`: x and y hold f32 values, whose products f64
/// represents exactly; otherwise fma recovers each product's error.
template <bool kExactProducts>
Dot dot(const double* x, const double* y, std::int64_t padded_count) noexcept {
  double hi[kLanes] = {}, lo[kLanes] = {}, magnitude[kLanes] = {};
  for (std::int64_t d = 0; d < padded_count; d += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      const double product = x[d + lane] * y[d + lane];
      if constexpr (!kExactProducts) {
        lo[lane] += std::fma(x[d + lane], y[d + lane], -product);
      }
      add(hi[lane], lo[lane], product);
      magnitude[lane] += std::fabs(product);
    }
  }
  Dot result;
  for (std::int64_t lane = 0; lane < kLanes; ++lane) {
    add(result.value, hi[lane]);
    result.value.lo += lo[lane];
    result.magnitude += magnitude[lane];
  }
  return result;
}

/// hi + lo += p x and magnitude += |p x|, element by element. The product is rounded: its error is
/// of the size of the error that p itself carries.
inline void add_scaled(double p, const std::vector<double>& x, std::vector<double>& hi,
                       std::vector<double>& lo, std::vector<double>& magnitude) noexcept {
  for (std::size_t d = 0; d < x.size(); ++d) {
    const double product = p * x[d];
    add(hi[d], lo[d], product);
    magnitude[d] += std::fabs(product);
  }
}

}  // namespace regard::oracle

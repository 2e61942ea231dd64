// The constants of the bound. docs/numerics.md derives each; u is the unit roundoff.
//
// What a score suffers before it is a weight, in units of u:
//   A 2 + sqrt(D)  scale (with log2 e) rounded and applied, 1 each; D additions of partial sums,
//   S D/2          which rise evenly to the score, where equal terms round one way, and stray by
//                  less than A, where they do not
//   F 2^-126       bf16 units count inputs below this as 0 (not in units of u)
//   C 10, f64 13   softcap: its rounding (none in f64), that of its inverse, the product, tanh (3
//                  ulp, in f64 5; an ulp is 2 u), the product
//   L 3            ALiBi: slope, distance and product
//   B 1            bias, where it is wider than the arithmetic
//   C + L + B      each addition of bias or ALiBi
// and then:
//   T + lag        subtracting the reference, which may lag 32 ln 2 behind the largest score: 1;
//                  once more where the reference is raised, with 4 for each 16 ln 2 of a raise;
//                  2 each where log2 e enters only then (softcap, bias or ALiBi)
//   constant 3     exponential
// Sums of n keys are taken in blocks of 192 (fewer, of 512, in tile units) and the blocks added up;
// O of tile units by 32 keys.
#include <algorithm>
#include <cmath>
#include <limits>

#include "regard/check.h"

namespace regard {
namespace {

constexpr double kLn2 = 0.69314718055994530942;
/// A reference is raised when the sum of weights exceeds 2^32, by at least 2^16.
constexpr double kLag = 32 * kLn2;
constexpr double kLeastRaise = 16 * kLn2;

bool wider(const ConstTensor& tensor, double unit) {
  return tensor.data != nullptr && tensor.dtype == DType::f64 && unit > 0x1p-53;
}

/// Costs of f64's own oracle: its exponential, and the rounding of a score with a bias.
ScoreError score_error(const Options& options, double unit, double oracle, double head_dim) {
  const bool capped = options.softcap > 0, biased = options.bias.data != nullptr,
             sloped = options.alibi_slopes.data != nullptr;
  const double late_log2e = capped || biased || sloped ? 2 : 0;
  ScoreError error;
  error.unit = unit;
  error.constant = 3 + 3 * oracle;
  error.magnitude = 2 + std::sqrt(head_dim);
  error.score = head_dim / 2;
  error.capped = !capped ? 0 : oracle > 0 ? 13 : 10;
  error.alibi = sloped ? 3 : 0;
  error.bias = wider(options.bias, unit) ? 1 : 0;
  error.sum = (biased ? 1 + oracle : 0) + (sloped ? 1 : 0);
  error.distance = (1 + late_log2e) + (1 + late_log2e + 4 / kLeastRaise);
  error.lag = kLag;
  error.sink = 2 + (wider(options.sinks, unit) ? 1 : 0);
  return error;
}

/// Roundings that a weight passes through on its way into l.
double weight_sums(const ErrorBound& bound, const OracleRow& row) {
  const double n = double(row.visible);
  return std::min(n, 64.0) + n / 192 + bound.sink_terms;
}

double value_sums(const ErrorBound& bound, const OracleRow& row) {
  const double n = double(row.visible);
  const double in_blocks = std::min(n, 192.0) + n / 192;
  // A tile unit, which flushes, takes 32 keys apart and adds them to the values of all before.
  return bound.score.flushed > 0 ? std::max(in_blocks, std::min(n, 18 + n / 32)) : in_blocks;
}

double lag(const ErrorBound& bound, const OracleRow& row) {
  return std::min(row.spread, bound.score.lag);
}

double rounded(const ErrorBound& bound, double value, double error) {
  // The sum of both may overflow.
  return error + (bound.result_unit * std::fabs(value) + bound.result_unit * error) +
         bound.result_floor;
}

}  // namespace

ErrorBound error_bound(DType inputs, DType result, std::int64_t head_dim,
                       const Options& options) noexcept {
  ErrorBound bound;
  const bool f64 = inputs == DType::f64 && result == DType::f64;
  bound.oracle = f64 ? 1 : 0;
  bound.unit = f64 ? 0x1p-53 : 0x1p-24;
  bound.floor = f64 ? std::numeric_limits<double>::min() : std::numeric_limits<float>::min();
  bound.score = score_error(options, bound.unit, bound.oracle, double(head_dim));
  bound.sink_terms = options.sinks.data != nullptr ? 1 : 0;
  if (options.precision == Precision::default_) {
    if (inputs == DType::bf16) {
      bound.weight_rounding = 0x1p-7;
      bound.score.flushed = bound.floor;
    }
    if (inputs == DType::f16) {
      bound.weight_rounding = 0x1p-10;
      bound.weight_floor = 0x1p-25;
    }
  }
  switch (result) {
    case DType::f16:
      bound.result_unit = 0x1p-11;
      bound.result_floor = 0x1p-25;
      bound.result_limit = 65520;
      return bound;
    case DType::bf16:
      bound.result_unit = 0x1p-8;
      bound.result_floor = 0x1p-134;
      bound.result_limit = 0x1.ffp127;
      return bound;
    case DType::f32:
      bound.result_limit = 0x1.ffffffp127;
      return bound;
    default:
      bound.result_limit = std::numeric_limits<double>::infinity();
      return bound;
  }
}

double out_bound(const ErrorBound& bound, const OracleRow& row, std::int64_t d) noexcept {
  const auto at = std::size_t(d);
  const double magnitude = row.out_magnitude[at], error = row.out_error[at];
  const double values = row.value_sum[at], w = row.weight_error, out = row.out[at];
  // 1 / l and the product with it, rounded; in f64 the oracle's division and product too.
  const double sums = value_sums(bound, row) + weight_sums(bound, row) + 2 + 2 * bound.oracle;
  // A rounded weight reaches numerator and denominator.
  const double relative = bound.unit * sums + 2 * bound.weight_rounding;
  const double weighed = (error + std::fabs(out) * w + relative * (magnitude + error)) * (1 + w);
  // Whatever the weights are, out is an average of the values.
  const double average = magnitude + (1 + relative) * values;
  const double flushed = bound.floor * (double(row.visible) + values) + bound.weight_floor * values;
  return rounded(bound, out, std::min(weighed, average) + flushed);
}

double lse_bound(const ErrorBound& bound, const OracleRow& row) noexcept {
  const double lse = std::fabs(row.lse);
  // Only the sink: converted to base 2 and back, flushed where it is denormal.
  if (row.visible == 0) {
    return rounded(bound, row.lse, bound.unit * (bound.score.sink + 3) * lse + bound.floor);
  }
  const double log_l = std::fabs(row.lse - row.largest);
  const double m = std::fabs(row.largest) + lag(bound, row);
  // m ln 2 costs 2 |m|, ln l 2 ulp, the sum 1; the oracle's logarithm 1 ulp, its two sums 1 each.
  // Each is multiplied by u first: m may be the largest number.
  const double u = bound.unit;
  const double arithmetic = 2 * u * m + 4 * u * (log_l + lag(bound, row)) + u * lse +
                            bound.oracle * (3 * u * log_l + u * lse);
  const double flushed = bound.floor * double(row.visible);
  // Terms whose x_j was cut add at most n e^cut_exponent to a sum of 1 + w.
  const double terms = double(row.visible) + bound.sink_terms, cut = row.cut_exponent;
  const double weights =
      cut < 700 ? std::log1p(row.weight_error + terms * std::exp(cut)) : cut + std::log(terms + 2);
  return rounded(bound, row.lse, weights + u * weight_sums(bound, row) + arithmetic + flushed);
}

double weight_bound(const ErrorBound& bound, const OracleRow& row, std::int64_t j) noexcept {
  const double p = row.weights[std::size_t(j)], x = row.weight_errors[std::size_t(j)];
  const double sums = bound.unit * (weight_sums(bound, row) + 2 + bound.oracle);
  const double w = row.weight_error;
  // (1 + x)(1 + w)(1 + sums) - 1; no weight exceeds 1.
  const double factor = x + w * (1 + x) + sums * (1 + x) * (1 + w);
  // Where p is 0 and the factor overflows, min takes the 1.
  return rounded(bound, p, std::min(1.0, p * factor) + bound.floor);
}

double entropy_bound(const ErrorBound& bound, const OracleRow& row) noexcept {
  if (row.visible == 0) return 0;
  // p = e^(s - lse): an error y of the LSE is one of every weight.
  const double y = std::expm1(std::min(lse_bound(bound, row), 700.0));
  const double weights = (1 + y) * row.entropy_error + y * (row.entropy + row.weight_sum);
  // Logarithm, product, and the sum over the keys.
  const double sums = bound.unit * (weight_sums(bound, row) + 3) * (row.entropy + weights);
  const double n = double(row.visible);
  const double flushed = bound.floor * n * -std::log(bound.floor);
  return rounded(bound, row.entropy,
                 std::min(weights + sums, row.entropy + std::log(n) + 1) + flushed);
}

double score_bound(const ErrorBound& bound, const OracleRow& row, std::int64_t j) noexcept {
  // To base 2 and back, rounded; in f64 the oracle's second number is dropped too.
  const double s = std::fabs(row.scores[std::size_t(j)]);
  const double error = row.score_errors[std::size_t(j)] + bound.unit * (3 + bound.oracle) * s;
  return rounded(bound, s, error);
}

}  // namespace regard

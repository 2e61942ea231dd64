// Runs the engine on small dense problems given in f64, in f64 or rounded to f32, and judges what
// comes out: what the labs and the demo put beside the teaching forms.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "regard/check.h"
#include "regard/options.h"
#include "regard/tensor.h"

namespace regard::cli {

/// q, k and v of one call, dense (B, H, S, D).
struct Problem {
  Shape q_shape{}, k_shape{}, v_shape{};
  std::vector<double> q, k, v;

  Shape out_shape() const { return {q_shape[0], q_shape[1], q_shape[2], v_shape[3]}; }
};

struct EngineResult {
  std::vector<double> out;      ///< (B, Hq, Sq, Dv)
  std::vector<double> weights;  ///< (B, Hq, Sq, Skv)
  CheckReport check;            ///< of every row, out and LSE
};

/// Inputs are rounded to `dtype` first and judged as they are then.
EngineResult run_engine(DType dtype, const Problem& problem, const Options& options);

/// Largest |a - b|; infinite when the lengths differ or one of them alone is not a number.
double largest_difference(std::span<const double> a, std::span<const double> b);
/// "1.1e-15 (3 ulp)": a difference in units of the last place of the largest number in `values`.
std::string in_ulp(double difference, std::span<const double> values);

}  // namespace regard::cli

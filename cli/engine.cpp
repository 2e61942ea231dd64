#include "engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "command.h"
#include "regard/attention.h"
#include "text.h"

namespace regard::cli {
namespace {

std::size_t count(const Shape& shape) {
  return std::size_t(shape[0] * shape[1] * shape[2] * shape[3]);
}

template <class To, class From>
std::vector<To> converted(const std::vector<From>& values) {
  std::vector<To> result(values.size());
  std::transform(values.begin(), values.end(), result.begin(), [](From x) { return To(x); });
  return result;
}

template <class T>
EngineResult run_in(const Problem& problem, const Options& options) {
  const std::vector<T> q = converted<T>(problem.q), k = converted<T>(problem.k),
                       v = converted<T>(problem.v);
  const Shape out_shape = problem.out_shape();
  const auto [batch, heads, sq, dv] = out_shape;
  const Shape lse_shape = {batch, heads, sq, 1};
  const Shape weights_shape = {batch, heads, sq, problem.k_shape[2]};
  std::vector<T> out(count(out_shape)), lse(count(lse_shape)), weights(count(weights_shape));
  const ConstTensor views[] = {view(q.data(), problem.q_shape), view(k.data(), problem.k_shape),
                               view(v.data(), problem.v_shape)};
  const Outputs outputs = {view(out.data(), out_shape), view(lse.data(), lse_shape),
                           view(weights.data(), weights_shape)};
  const Context context(1);
  require(forward(context, views[0], views[1], views[2], outputs, options));
  EngineResult result{converted<double>(out), converted<double>(weights), {}};
  require(check(views[0], views[1], views[2], options, outputs.out, outputs.lse, {}, result.check));
  return result;
}

}  // namespace

EngineResult run_engine(DType dtype, const Problem& problem, const Options& options) {
  return dtype == DType::f64 ? run_in<double>(problem, options) : run_in<float>(problem, options);
}

double largest_difference(std::span<const double> a, std::span<const double> b) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (a.size() != b.size()) return kInfinity;
  double largest = 0;
  for (std::size_t n = 0; n < a.size(); ++n) {
    const double difference = std::fabs(a[n] - b[n]);
    largest = std::isnan(difference) ? kInfinity : std::max(largest, difference);
  }
  return largest;
}

std::string in_ulp(double difference, std::span<const double> values) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::fabs(value));
  const double ulp = std::nextafter(largest, std::numeric_limits<double>::infinity()) - largest;
  if (difference == 0) return "0";
  return fmt::format("{} ({:.0f} ulp)", small_text(difference), std::ceil(difference / ulp));
}

}  // namespace regard::cli

#include "option_costs.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "command.h"
#include "option_calls.h"
#include "regard/check.h"

namespace regard::cli {
namespace {

double run_seconds(const Context& context, const Call& call) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  require(forward(context, call.q, call.k, call.v, call.outputs, call.options));
  return std::chrono::duration<double>(Clock::now() - start).count();
}

template <class T>
T at(const Tensor& tensor, std::int64_t h, std::int64_t i, std::int64_t j) {
  return static_cast<const T*>(
      tensor.data)[h * tensor.strides[1] + i * tensor.strides[2] + j * tensor.strides[3]];
}

/// Keeps the largest error in units of its bound; what is no number counts as infinite.
class Worst {
 public:
  void see(double actual, double expected, double bound) {
    const double units = std::fabs(actual - expected) / bound;
    if (actual != expected) see(units);
  }
  void see(double units) {
    worst_ = std::isnan(units) ? std::numeric_limits<double>::infinity() : std::max(worst_, units);
  }
  double units() const { return worst_; }

 private:
  double worst_ = 0;
};

/// Weights, entropy and top keys of one row; `item` is its place among the rows of the weights.
void check_statistics(const Call& call, const ErrorBound& bound, const OracleRow& row,
                      std::int64_t item, std::int64_t i, Worst& worst) {
  const Outputs& o = call.outputs;
  const std::int64_t h = item % call.shape[1];
  if (o.entropy.data)
    worst.see(at<float>(o.entropy, h, i, 0), row.entropy, entropy_bound(bound, row));
  for (std::int64_t j = 0; o.weights.data && j < call.shape[2]; ++j) {
    worst.see(at<float>(o.weights, h, item, j), row.weights[std::size_t(j)],
              weight_bound(bound, row, j));
  }
  for (std::int64_t n = 0; o.top_keys.data && n < o.top_keys.shape[3]; ++n) {
    const auto key = at<std::int64_t>(o.top_keys, h, i, n);
    const bool none = key < 0 || key >= call.shape[2];  // fewer keys than places: weight 0
    worst.see(at<float>(o.top_weights, h, i, n), none ? 0 : row.weights[std::size_t(key)],
              none ? bound.floor : weight_bound(bound, row, key));
  }
}

/// The largest error of sampled rows in units of its bound.
double check_sample(const Call& call) {
  CheckSettings settings;
  settings.rows = kCheckedRows;
  settings.find_convention = false;
  CheckReport report;
  require(check(call.q, call.k, call.v, call.options, call.outputs.out, call.outputs.lse, settings,
                report));
  Worst worst;
  worst.see(report.passed ? std::min(report.worst_units, 1.0) : report.worst_units);
  const Outputs& o = call.outputs;
  if (!o.entropy.data && !o.weights.data && !o.top_keys.data) return worst.units();
  Oracle oracle;
  require(oracle.prepare(call.q, call.k, call.v, call.options));
  const ErrorBound bound = error_bound(call.q.dtype, DType::f32, call.shape[3], call.options);
  const std::int64_t count = std::min(kCheckedRows, call.shape[2]);
  for (std::int64_t n = 0; n < count; ++n) {
    const std::int64_t i = n * call.shape[2] / count;
    OracleRow row;
    require(oracle.row(0, n % call.shape[1], i, row, bound.score));
    check_statistics(call, bound, row, n, i, worst);
  }
  return worst.units();
}

Shape shape_of(const Workload& workload, Against against) {
  const BenchShape& shape = workload.shape;
  if (against == Against::longer) return {1, 1, 8 * shape.rows, shape.head_dim};
  return shape.q();
}

const char* name_of(Against against) {
  return against == Against::causal   ? "causal"
         : against == Against::longer ? "plain, 8 S"
                                      : "plain";
}

}  // namespace

std::size_t option_count() noexcept {
  return option_entries().size();
}

OptionCost measure_option(const Workload& workload, int repeats, std::size_t n) {
  const OptionEntry& entry = option_entries()[n];
  const Shape shape = shape_of(workload, entry.against);
  Call other(shape), call(shape);
  if (entry.against == Against::causal) other.options.causal = Causal::top_left;
  entry.change(call);
  const Context context(workload.threads);
  OptionCost cost;
  cost.option = entry.name;
  cost.against = name_of(entry.against);
  if (entry.limit > 0) cost.limit = entry.limit;
  for (const Call* one : {&other, &call}) {
    run_seconds(context, *one);
    cost.worst_units = std::max(cost.worst_units, check_sample(*one));
  }
  cost.right = cost.worst_units <= 1;
  if (!cost.right) return cost;
  cost.seconds = cost.against_seconds = std::numeric_limits<double>::infinity();
  for (int repeat = 0; repeat < repeats; ++repeat) {
    cost.against_seconds = std::min(cost.against_seconds, run_seconds(context, other));
    cost.seconds = std::min(cost.seconds, run_seconds(context, call));
  }
  return cost;
}

}  // namespace regard::cli

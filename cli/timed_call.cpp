#include "timed_call.h"

#include <chrono>

#include "command.h"

namespace regard::cli {

TimedCall::TimedCall(const Workload& workload) : context_(workload.threads) {
  const BenchShape& shape = workload.shape;
  std::mt19937_64 engine(1);
  q_ = memory_.normal(shape.q(), workload.dtype, engine);
  k_ = memory_.normal(shape.k(), workload.dtype, engine);
  v_ = memory_.normal(shape.v(), workload.dtype, engine);
  outputs_.out = memory_.unset(shape.out(), workload.dtype);
  options_.causal = workload.mask.causal;
  options_.window = workload.mask.window;
}

Explanation TimedCall::explanation() const {
  Explanation explanation;
  require(explain(context_, q_, k_, v_, outputs_, options_, explanation));
  return explanation;
}

double TimedCall::seconds(int calls) const {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  for (int call = 0; call < calls; ++call) {
    require(forward(context_, q_, k_, v_, outputs_, options_));
  }
  return std::chrono::duration<double>(Clock::now() - start).count() / calls;
}

CheckReport TimedCall::check_sample() const {
  CheckReport report;
  CheckSettings settings;
  settings.rows = kCheckedRows;
  settings.find_convention = false;
  require(check(q_, k_, v_, options_, outputs_.out, {}, settings, report));
  return report;
}

}  // namespace regard::cli

// A request with its plan for one ISA's loops. The plan is pure, so the tensors are only addresses
// and every compiled ISA can be planned for on any CPU.
#pragma once

#include <cstdint>
#include <ostream>
#include <stdexcept>
#include <vector>

#include "dispatch/dispatch.h"
#include "plan/plan.h"
#include "problem/problem.h"
#include "problem/visible.h"
#include "support/shapes.h"

namespace regard::test {

struct Request {
  ProblemShape shape{1, 1, 1, 1, 1, 1, 1};
  DType dtype = DType::f32;
  Path path = Path::direct;
  Precision precision = Precision::default_;
  Causal causal = Causal::none;
  std::vector<std::int64_t> q_offset = {};
  std::vector<std::int64_t> rows = {};
  bool out = true, lse = true, weights = false;
  int threads = 1;       ///< of the context
  int call_threads = 0;  ///< of the call
};

inline std::ostream& operator<<(std::ostream& stream, const Request& r) {
  return stream << r.shape << ' ' << dtype_name(r.dtype) << " path " << int(r.path) << " precision "
                << int(r.precision) << " causal " << int(r.causal) << " offsets "
                << r.q_offset.size() << " rows " << r.rows.size() << " out " << r.out << " lse "
                << r.lse << " weights " << r.weights << " threads " << r.threads << " of the call "
                << r.call_threads;
}

/// Addresses far apart, so that a pointer tells its tensor.
inline std::byte* fake_address(std::int64_t tensor) {
  return reinterpret_cast<std::byte*>(tensor << 40);
}

/// Keeps what the spans of `problem` point at; not to be copied.
struct Planned {
  Request request;
  const dispatch::Isa& isa;
  problem::Problem problem;
  plan::Plan plan;

  Planned(const Planned&) = delete;
  Planned& operator=(const Planned&) = delete;

  explicit Planned(const Request& given, const dispatch::Isa& on = dispatch::isas().front())
      : request(given), isa(on) {
    const auto typed = [](std::int64_t number, const Shape& shape, DType dtype) {
      return Tensor{fake_address(number), dtype, shape, dense_strides(shape)};
    };
    const auto tensor = [&](std::int64_t number, const Shape& shape) {
      return typed(number, shape, request.dtype);
    };
    const DType compute = request.dtype == DType::f64 ? DType::f64 : DType::f32;
    const ProblemShape& s = request.shape;
    Shape weights = s.weights();
    if (!request.rows.empty()) weights[2] = std::int64_t(request.rows.size());
    Outputs outputs;
    if (request.out) outputs.out = tensor(4, s.out());
    if (request.lse) outputs.lse = typed(5, s.lse(), compute);
    if (request.weights) outputs.weights = typed(6, weights, compute);
    Options options;
    options.path = request.path;
    options.precision = request.precision;
    options.causal = request.causal;
    options.q_offset = request.q_offset;
    options.rows = request.rows;
    options.threads = request.call_threads;
    const Status status = problem::make_problem(tensor(1, s.q()), tensor(2, s.k()),
                                                tensor(3, s.v()), outputs, options, problem);
    if (!status.ok()) throw std::invalid_argument(status.message());
    plan = plan::make_plan(problem, *isa.table, request.threads);
  }

  /// Phases in the order in which they run.
  std::vector<const plan::Phase*> phases() const { return {&plan.main, &plan.weights}; }
  std::int64_t spaces() const { return request.shape.batch * request.shape.kv_heads; }
};

}  // namespace regard::test

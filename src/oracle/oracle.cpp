#include "regard/oracle.h"

#include <cmath>
#include <string>

#include "base/guard.h"
#include "base/status_text.h"
#include "oracle/row.h"
#include "problem/problem.h"

namespace regard {
namespace {

std::string triple(std::int64_t x, std::int64_t y, std::int64_t z) {
  std::string text = "(";
  text.append(std::to_string(x)).append(", ").append(std::to_string(y));
  return text.append(", ").append(std::to_string(z)).append(")");
}

ConstTensor of_type(ConstTensor tensor, DType dtype) {
  tensor.dtype = dtype;
  return tensor;
}

Status check_held(const HeldKeys& held, std::int64_t batch) {
  const auto count = std::int64_t(held.held_from.size());
  if (count != 0 && count != batch) {
    return base::invalid("held_from: " + std::to_string(count) + " numbers for a batch of " +
                         std::to_string(batch));
  }
  if (held.keep_first >= 0) return {};
  return base::invalid("keep_first: " + std::to_string(held.keep_first) + " is below 0");
}

}  // namespace

Status Oracle::prepare(const ConstTensor& q, const ConstTensor& k, const ConstTensor& v,
                       const Options& options, const Deviation& deviation) noexcept {
  return base::guarded([&]() -> Status {
    problem::Problem checked;
    Status status = problem::make_problem(q, k, v, {}, options, checked);  // one type for all three
    if (status.ok()) status = prepare_cached(q, k, v, options);
    if (status.ok()) deviation_ = deviation;
    return status;
  });
}

Status Oracle::prepare_cached(const ConstTensor& q, const ConstTensor& k, const ConstTensor& v,
                              const Options& options, const HeldKeys& held) noexcept {
  return base::guarded([&]() -> Status {
    problem::Problem checked;
    Status status =
        problem::make_problem(q, of_type(k, q.dtype), of_type(v, q.dtype), {}, options, checked);
    if (status.ok()) status = problem::check_float("k", k.dtype);
    if (status.ok()) status = problem::check_float("v", v.dtype);
    checked.k = k;
    checked.v = v;
    if (status.ok()) status = problem::check_memory(checked);
    if (status.ok()) status = check_held(held, q.shape[0]);
    if (!status.ok()) return status;
    options_ = options;
    deviation_ = {};
    held_ = held;
    q_ = q;
    k_ = k;
    v_ = v;
    scale_ = options.scale.value_or(1 / std::sqrt(double(q.shape[3])));
    out_shape_ = {q.shape[0], q.shape[1], q.shape[2], v.shape[3]};
    return {};
  });
}

Status Oracle::row(std::int64_t b, std::int64_t h, std::int64_t i, OracleRow& row,
                   const ScoreError& error) const noexcept {
  return base::guarded([&]() -> Status {
    const auto [batch, heads, rows, dv] = out_shape_;
    if (b < 0 || b >= batch || h < 0 || h >= heads || i < 0 || i >= rows) {
      return base::invalid("row: " + triple(b, h, i) +
                           " is not inside (B, Hq, Sq) = " + triple(batch, heads, rows));
    }
    const oracle::Question question{q_, k_, v_, options_, deviation_, held_, error, scale_};
    oracle::RowWork(question, {b, h, i}, row).compute();
    return {};
  });
}

}  // namespace regard

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

}  // namespace

Status Oracle::prepare(const ConstTensor& q, const ConstTensor& k, const ConstTensor& v,
                       const Options& options, const Deviation& deviation) noexcept {
  return base::guarded([&]() -> Status {
    problem::Problem checked;
    Status status = problem::make_problem(q, k, v, {}, options, checked);
    if (status.ok()) status = problem::check_memory(checked);
    if (!status.ok()) return status;
    options_ = options;
    deviation_ = deviation;
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
    const oracle::Question question{q_, k_, v_, options_, deviation_, error, scale_};
    oracle::RowWork(question, {b, h, i}, row).compute();
    return {};
  });
}

}  // namespace regard

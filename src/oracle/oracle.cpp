#include "regard/oracle.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/guard.h"
#include "base/status_text.h"
#include "oracle/compensated.h"
#include "problem/problem.h"

namespace regard {
namespace {

using oracle::Dot;
using oracle::kLanes;
using oracle::Pair;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::int64_t padded(std::int64_t count) {
  return (count + kLanes - 1) / kLanes * kLanes;
}

template <class T>
void load(const ConstTensor& tensor, std::int64_t offset, double* row) {
  const T* element = static_cast<const T*>(tensor.data) + offset;
  for (std::int64_t d = 0; d < tensor.shape[3]; ++d)
    row[d] = double(element[d * tensor.strides[3]]);
}

/// Row s of head h of batch entry b. What `row` holds past the row's end stays.
void load_row(const ConstTensor& tensor, std::int64_t b, std::int64_t h, std::int64_t s,
              double* row) {
  const std::int64_t offset = b * tensor.strides[0] + h * tensor.strides[1] + s * tensor.strides[2];
  if (tensor.dtype == DType::f64) return load<double>(tensor, offset, row);
  load<float>(tensor, offset, row);
}

/// Position of query row 0 of batch entry b.
std::int64_t offset(const Options& options, std::int64_t sq, std::int64_t skv, std::int64_t b) {
  if (!options.q_offset.empty()) return options.q_offset[options.q_offset.size() == 1 ? 0 : b];
  return options.causal == Causal::bottom_right ? skv - sq : 0;
}

/// Key j is visible iff j <= i + offset; the difference cannot overflow where the sum could.
bool visible(Causal causal, std::int64_t offset, std::int64_t i, std::int64_t j) {
  return causal == Causal::none || j - i <= offset;
}

struct Score {
  Pair value;
  double magnitude = 0;
};

/// scale q.k of two padded rows.
Score score(double scale, DType dtype, const std::vector<double>& q, const std::vector<double>& k) {
  const auto count = std::int64_t(q.size());
  const Dot dot = dtype == DType::f64 ? oracle::dot<false>(q.data(), k.data(), count)
                                      : oracle::dot<true>(q.data(), k.data(), count);
  return {oracle::multiply(scale, dot.value), std::fabs(scale) * dot.magnitude};
}

/// One row on its way: the definition's steps, each over the keys that the row sees.
class RowWork {
 public:
  RowWork(const ConstTensor& q, const ConstTensor& k, const ConstTensor& v, const Options& options,
          OracleRow& row)
      : q_(q), k_(k), v_(v), options_(options), row_(row) {}

  void compute(double scale, std::int64_t b, std::int64_t h, std::int64_t i) {
    b_ = b;
    kv_head_ = h * k_.shape[1] / q_.shape[1];
    i_ = i;
    offset_ = offset(options_, q_.shape[2], k_.shape[2], b);
    take_scores(scale, h);
    take_weights();
    take_values();
  }

 private:
  /// Calls f(j) for each key that the row sees; no other row of K and V is read.
  template <class F>
  void for_each_visible(const F& f) const {
    for (std::int64_t j = 0; j < k_.shape[2]; ++j)
      if (visible(options_.causal, offset_, i_, j)) f(j);
  }

  /// Leaves the scores in weights + low_ and their maximum in reference_: NaN once one of them is
  /// not finite, which then spoils the whole row.
  void take_scores(double scale, std::int64_t h) {
    std::vector<double> q(padded(q_.shape[3])), k(q.size());
    load_row(q_, b_, h, i_, q.data());
    row_.weights.assign(k_.shape[2], 0);
    low_.assign(k_.shape[2], 0);
    row_.visible = 0;
    row_.score_magnitude = 0;
    row_.largest_score = 0;
    for_each_visible([&](std::int64_t j) {
      load_row(k_, b_, kv_head_, j, k.data());
      const Score s = score(scale, q_.dtype, q, k);
      row_.weights[j] = s.value.hi;
      low_[j] = s.value.lo;
      raise_reference(s.value);
      row_.score_magnitude = std::max(row_.score_magnitude, s.magnitude);
      row_.largest_score = std::max(row_.largest_score, std::fabs(s.value.hi));
      ++row_.visible;
    });
  }

  void raise_reference(const Pair& score) {
    if (!std::isfinite(score.value())) reference_.hi = kNaN;
    const bool larger =
        score.hi > reference_.hi || (score.hi == reference_.hi && score.lo > reference_.lo);
    if (larger) reference_ = score;  // never once it is NaN
  }

  /// weights: p_j = exp(s_j - m), then divided by their sum; lse = m + ln of that sum, which for
  /// an empty row is -inf + ln 0.
  void take_weights() {
    Pair sum;
    for_each_visible([&](std::int64_t j) {
      row_.weights[j] = std::exp((row_.weights[j] - reference_.hi) + (low_[j] - reference_.lo));
      oracle::add(sum, row_.weights[j]);
    });
    for_each_visible([&](std::int64_t j) { row_.weights[j] /= sum.value(); });
    row_.lse = reference_.hi + (reference_.lo + std::log(sum.value()));
  }

  /// out_d = sum_j p_j v_jd
  void take_values() {
    const std::int64_t dv = v_.shape[3];
    std::vector<double> v(dv), low(dv);
    row_.out.assign(dv, 0);
    row_.out_magnitude.assign(dv, 0);
    row_.value_sum.assign(dv, 0);
    for_each_visible([&](std::int64_t j) {
      load_row(v_, b_, kv_head_, j, v.data());
      oracle::add_scaled(row_.weights[j], v, row_.out, low, row_.out_magnitude);
      for (std::int64_t d = 0; d < dv; ++d) row_.value_sum[d] += std::fabs(v[d]);
    });
    for (std::int64_t d = 0; d < dv; ++d) row_.out[d] += low[d];
  }

  const ConstTensor& q_;
  const ConstTensor& k_;
  const ConstTensor& v_;
  const Options& options_;
  OracleRow& row_;
  std::int64_t b_ = 0, kv_head_ = 0, i_ = 0, offset_ = 0;
  std::vector<double> low_;
  Pair reference_{-kInfinity, 0};
};

std::string triple(std::int64_t x, std::int64_t y, std::int64_t z) {
  std::string text = "(";
  text.append(std::to_string(x)).append(", ").append(std::to_string(y));
  return text.append(", ").append(std::to_string(z)).append(")");
}

}  // namespace

Status Oracle::prepare(const ConstTensor& q, const ConstTensor& k, const ConstTensor& v,
                       const Options& options) noexcept {
  return base::guarded([&]() -> Status {
    problem::Problem checked;
    Status status = problem::make_problem(q, k, v, {}, options, checked);
    if (status.ok()) status = problem::check_memory(checked);
    if (!status.ok()) return status;
    options_ = options;
    q_ = q;
    k_ = k;
    v_ = v;
    scale_ = options.scale.value_or(1 / std::sqrt(double(q.shape[3])));
    out_shape_ = {q.shape[0], q.shape[1], q.shape[2], v.shape[3]};
    return {};
  });
}

Status Oracle::row(std::int64_t b, std::int64_t h, std::int64_t i, OracleRow& row) const noexcept {
  return base::guarded([&]() -> Status {
    const auto [batch, heads, rows, dv] = out_shape_;
    if (b < 0 || b >= batch || h < 0 || h >= heads || i < 0 || i >= rows) {
      return base::invalid("row: " + triple(b, h, i) +
                           " is not inside (B, Hq, Sq) = " + triple(batch, heads, rows));
    }
    RowWork(q_, k_, v_, options_, row).compute(scale_, b, h, i);
    return {};
  });
}

}  // namespace regard

#include "oracle/score.h"

#include <algorithm>
#include <cmath>

#include "base/read.h"

namespace regard::oracle {
namespace {

std::int64_t padded(std::int64_t count) {
  return (count + kLanes - 1) / kLanes * kLanes;
}

/// c tanh(x / c) in long double, which has digits to spare, and what an error of x leaves there:
/// tanh falls off at least as fast from the nearest point to 0 that the error can reach.
Stepped soften(double c, const Stepped& x) {
  using Wide = long double;
  const Wide tanh = std::tanh((Wide(x.value.hi) + Wide(x.value.lo)) / Wide(c));
  const Wide whole = Wide(c) * tanh;
  Stepped result;
  result.value.hi = double(whole);
  result.value.lo = double(whole - Wide(result.value.hi));
  const double nearest = std::max(0.0, std::fabs(x.value.value()) - x.error) / c;
  const double reached = std::tanh(nearest);
  result.error = x.error * (1 - reached * reached);
  return result;
}

double magnitude_sum(const std::vector<double>& row) {
  double sum = 0;
  for (const double x : row) sum += std::fabs(x);
  return sum;
}

}  // namespace

void load_row(const ConstTensor& tensor, std::int64_t b, std::int64_t h, std::int64_t s,
              double* row) {
  const std::int64_t offset = b * tensor.strides[0] + h * tensor.strides[1] + s * tensor.strides[2];
  base::read_floats(tensor, offset, tensor.strides[3], tensor.shape[3], row);
}

Scorer::Scorer(const Question& question, const RowIndex& at)
    : question_(question), at_(at), q_(std::size_t(padded(question.q.shape[3]))), k_(q_.size()) {
  const std::int64_t heads = question.q.shape[1], kv_heads = question.k.shape[1];
  kv_head_ = question.deviation.tiled_groups ? at.h % kv_heads : at.h * kv_heads / heads;
  load_row(question.q, at.b, at.h, at.i, q_.data());
  q_sum_ = magnitude_sum(q_);
  if (question.options.alibi_slopes.data != nullptr)
    slope_ = base::read_float(question.options.alibi_slopes, {at.b, at.h, 0, 0});
}

Score Scorer::score(std::int64_t j) {
  Score score;
  score.scaled = scaled(j, score.raw);
  // What is not finite stays so: no cap may hide it.
  const bool caps = question_.options.softcap > 0 && std::isfinite(score.scaled.value.value());
  if (!caps) {
    score.capped = score.scaled;
    score.biased = biased(score.capped, j);
  } else if (question_.deviation.softcap == Deviation::Softcap::before_bias) {
    score.capped = capped(score.scaled);
    score.biased = biased(score.capped, j);
  } else {
    score.biased = score.capped = capped(biased(score.scaled, j));
  }
  return score;
}

Stepped Scorer::scaled(std::int64_t j, double& raw) {
  load_row(question_.k, at_.b, kv_head_, j, k_.data());
  const auto count = std::int64_t(q_.size());
  const bool wide = question_.q.dtype == DType::f64 || question_.k.dtype == DType::f64;
  const Dot dot = wide ? oracle::dot<false>(q_.data(), k_.data(), count)
                       : oracle::dot<true>(q_.data(), k_.data(), count);
  raw = dot.value.value();
  Stepped score{multiply(question_.scale, dot.value)};
  const ScoreError& error = question_.error;
  score.error = error.unit * (error.magnitude * std::fabs(question_.scale) * dot.magnitude +
                              error.score * std::fabs(score.value.hi));
  if (error.flushed > 0) {
    score.error += error.flushed * (std::fabs(question_.scale) * q_sum_ + 2 * magnitude_sum(k_));
  }
  return score;
}

Stepped Scorer::capped(const Stepped& score) const {
  Stepped result = soften(question_.options.softcap, score);
  result.error += question_.error.unit * question_.error.capped * std::fabs(result.value.hi);
  return result;
}

/// Where there is a bias, the whole is rounded to f64: a row full of one large number then has
/// equal scores.
Stepped Scorer::biased(const Stepped& score, std::int64_t j) const {
  const Options& options = question_.options;
  const ScoreError& error = question_.error;
  if (options.bias.data == nullptr && options.alibi_slopes.data == nullptr) return score;
  Stepped result = score;
  double small = std::fabs(score.value.hi), bias = 0, alibi = 0;
  if (options.alibi_slopes.data != nullptr) {
    const auto ahead = double(j - position(question_, at_));
    const bool one_way = question_.deviation.alibi == Deviation::Alibi::one_way;
    const bool rising = question_.deviation.alibi == Deviation::Alibi::rising;
    const Pair term = multiply(slope_, {one_way ? ahead : std::fabs(ahead), 0});
    const double sign = one_way || rising ? 1 : -1;
    add(result.value, sign * term.hi);
    result.value.lo += sign * term.lo;
    alibi = std::fabs(term.hi);
    small += alibi;
  }
  if (options.bias.data != nullptr) {
    bias = base::read_float(options.bias, {at_.b, at_.h, at_.i, j});
    if (question_.deviation.scaled_bias) bias *= question_.scale;
    add(result.value, bias);
    result.value = {result.value.value(), 0};
  }
  const double all = small + std::fabs(bias);
  result.error += error.unit * (error.alibi * alibi + error.bias * std::fabs(bias)) +
                  std::min(error.unit * error.sum * all, 2 * small);
  return result;
}

}  // namespace regard::oracle

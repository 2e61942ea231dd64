#include "oracle/row.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/read.h"

namespace regard::oracle {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// x - y in twice the precision.
Pair difference(const Pair& x, const Pair& y) {
  Pair high{x.hi, 0};
  add(high, -y.hi);
  Pair result{high.hi, 0};
  add(result, high.lo + (x.lo - y.lo));
  return result;
}

/// e^x; what x holds beyond its first double is small against 1.
double exponential(const Pair& x) {
  const double value = std::exp(x.hi);
  return value == 0 ? 0 : value + value * x.lo;
}

}  // namespace

RowWork::RowWork(const Question& question, const RowIndex& at, OracleRow& row)
    : question_(question), at_(at), row_(row), highest_{-kInfinity, 0}, sink_(-kInfinity) {
  const auto keys = std::size_t(question.k.shape[2]), values = std::size_t(question.v.shape[3]);
  row_ = {};
  row_.exists = row_exists(question, at);
  for (auto* list : {&row_.weights, &row_.score_errors, &row_.weight_errors}) list->assign(keys, 0);
  row_.scores.assign(keys, -kInfinity);
  for (auto* list : {&row_.out, &row_.out_magnitude, &row_.out_error, &row_.value_sum})
    list->assign(values, 0);
  row_.lse = row_.largest = row_.cut_exponent = -kInfinity;
}

void RowWork::compute() {
  if (!row_.exists) return;
  take_scores();
  take_sink();
  if (seen_.empty() && question_.deviation.empty != Deviation::Empty::zero) return become_empty();
  if (seen_.empty() && sink_ == -kInfinity) return;
  take_weights();
  take_values();
  finish_lse();
  if (!std::isnan(reference_.hi)) return;
  // A sink that is no number spoils a row without keys too.
  row_.out.assign(row_.out.size(), kNaN);
  row_.entropy = kNaN;
}

void RowWork::take_scores() {
  Scorer scorer(question_, at_);
  kv_head_ = scorer.kv_head();
  const bool capped_hidden = question_.options.softcap > 0 &&
                             question_.deviation.softcap == Deviation::Softcap::after_mask;
  for (std::int64_t j = 0; j < question_.k.shape[2]; ++j) {
    Score score;
    if (visible(question_, at_, j)) {
      score = scorer.score(j);
    } else if (capped_hidden && key_exists(question_, at_, j)) {
      score.biased.value.hi = -question_.options.softcap;
    } else {
      continue;
    }
    seen_.push_back(j);
    scores_.push_back(score.biased.value);
    raw_.push_back(score.raw);
    row_.weight_errors[std::size_t(j)] = score.biased.error;  // until the weights are known
    keep_stage(j, score);
    // Infinity may hide behind a cap, or be taken back by a bias.
    raise_reference(std::isfinite(score.scaled.value.value()) ? score.biased.value : Pair{kNaN, 0});
  }
  row_.visible = std::int64_t(seen_.size());
  row_.largest = highest_.value();
}

void RowWork::keep_stage(std::int64_t j, const Score& score) {
  const Stage stage = question_.options.weights_stage;
  const Stepped& kept = stage == Stage::scaled   ? score.scaled
                        : stage == Stage::capped ? score.capped
                                                 : score.biased;
  row_.scores[std::size_t(j)] = kept.value.value();
  row_.score_errors[std::size_t(j)] = kept.error;
}

void RowWork::raise_reference(const Pair& score) {
  if (!std::isfinite(score.value())) highest_.hi = kNaN;
  const bool larger = score.hi > highest_.hi || (score.hi == highest_.hi && score.lo > highest_.lo);
  if (larger) highest_ = score;  // never once it is NaN
}

void RowWork::take_sink() {
  reference_ = highest_;
  if (question_.options.sinks.data == nullptr) return;
  sink_ = base::read_float(question_.options.sinks, {0, at_.h, 0, 0});
  if (question_.deviation.scaled_sinks) sink_ *= question_.scale;
  if (std::isnan(sink_) || sink_ == kInfinity) reference_ = highest_ = {kNaN, 0};
  if (sink_ > reference_.hi) reference_ = {sink_, 0};
}

/// weights: p_j = e^(s_j - m) over their sum; and how far each may be off.
void RowWork::take_weights() {
  const ScoreError& error = question_.error;
  std::vector<double> distances;
  for (std::size_t n = 0; n < seen_.size(); ++n) {
    double& weight = row_.weights[std::size_t(seen_[n])];
    weight = exponential(difference(scores_[n], reference_));
    add(sum_, weight);
    distances.push_back(difference(highest_, scores_[n]).hi);
    row_.spread = std::max(row_.spread, distances.back());
  }
  if (sink_ != -kInfinity) {
    sink_weight_ = exponential(difference({sink_, 0}, reference_));
    add(sum_, sink_weight_);
  }
  // A sink above all keys is the reference: what its distance costs is then the keys'.
  const double raised = sink_ > highest_.hi && !seen_.empty() ? sink_ - highest_.hi : 0;
  // `below` is the distance from the reference.
  const auto factor = [&](double score_error, double distance, double below) {
    constexpr double most = 700;
    const double reach = distance + std::min(row_.spread, error.lag);
    const double exponent =
        score_error + error.unit * error.constant + error.unit * error.distance * reach;
    if (exponent > most) row_.cut_exponent = std::max(row_.cut_exponent, exponent - below);
    // Beyond e^700 the weight means nothing; infinity would make NaN of weights that are 0.
    return std::expm1(std::min(exponent, most));
  };
  Pair weight_sum, entropy;
  for (std::size_t n = 0; n < seen_.size(); ++n) {
    const auto j = std::size_t(seen_[n]);
    const double p = row_.weights[j] /= sum_.value();
    const double x = row_.weight_errors[j] =
        factor(row_.weight_errors[j], distances[n] + raised, reference_.hi - scores_[n].hi);
    const double information = p > 0 ? -std::log(p) : p;  // NaN stays
    add(weight_sum, p);
    add(entropy, p * information);
    row_.weight_error += p * x;
    row_.entropy_error += p * x * (1 + information);
  }
  row_.weight_sum = weight_sum.value();
  row_.entropy = entropy.value();
  if (sink_ != -kInfinity) {
    const double distance = std::max(0.0, highest_.hi - sink_);
    row_.weight_error +=
        sink_weight_ / sum_.value() *
        factor(error.unit * error.sink * std::fabs(sink_), distance, reference_.hi - sink_);
  }
}

/// out_d = sum_j p_j v_jd
void RowWork::take_values() {
  const std::size_t dv = row_.out.size();
  std::vector<double> v(dv), low(dv);
  for (const std::int64_t key : seen_) {
    load_row(question_.v, at_.b, kv_head_, key, v.data());
    const double p = row_.weights[std::size_t(key)];
    const double x = row_.weight_errors[std::size_t(key)];
    add_scaled(p, v, row_.out, low, row_.out_magnitude);
    for (std::size_t d = 0; d < dv; ++d) {
      row_.value_sum[d] += std::fabs(v[d]);
      row_.out_error[d] += p * x * std::fabs(v[d]);
    }
  }
  for (std::size_t d = 0; d < dv; ++d) row_.out[d] += low[d];
}

/// ln of the sum of e^score, in the way that the deviation says.
void RowWork::finish_lse() {
  const auto plus_log = [](const Pair& m, double sum) { return m.hi + (m.lo + std::log(sum)); };
  constexpr double log2e = 1.44269504088896340736;
  switch (question_.deviation.lse) {
    case Deviation::Lse::natural:
      row_.lse = plus_log(reference_, sum_.value());
      return;
    case Deviation::Lse::base2:
      row_.lse = plus_log(reference_, sum_.value()) * log2e;
      return;
    case Deviation::Lse::without_sink:
      row_.lse = plus_log(reference_, sum_.value() - sink_weight_);
      return;
    case Deviation::Lse::unscaled_max:
    case Deviation::Lse::unscaled:
      break;
  }
  const double largest = raw_.empty() ? -kInfinity : *std::max_element(raw_.begin(), raw_.end());
  double sum = 0;
  for (const double score : raw_) sum += std::exp(score - largest);
  const bool whole = question_.deviation.lse == Deviation::Lse::unscaled;
  row_.lse = largest + (whole ? std::log(sum)
                              : std::log(sum_.value()) + (reference_.value() - highest_.value()));
}

/// An empty row as other kernels give it.
void RowWork::become_empty() {
  const Deviation::Empty kind = question_.deviation.empty;
  row_.lse = kind == Deviation::Empty::plus_lse ? kInfinity : kNaN;
  if (kind == Deviation::Empty::spoiled) row_.out.assign(row_.out.size(), kNaN);
  if (kind != Deviation::Empty::mean) return;
  for (std::int64_t j = 0; j < question_.k.shape[2]; ++j) {
    if (key_exists(question_, at_, j)) seen_.push_back(j);
  }
  row_.visible = std::int64_t(seen_.size());
  for (const std::int64_t j : seen_) row_.weights[std::size_t(j)] = 1 / double(row_.visible);
  take_values();
}

}  // namespace regard::oracle

// Single-head causal self-attention, from the formula:
//   q = x Wq    k = x Wk    v = x Wv
//   weights_ij = exp(s_ij) / sum_j' exp(s_ij')   with s_ij = q_i . k_j / sqrt(d_head), j <= i
//   out_i = sum_j weights_ij v_j
// and three facts about it. Written to be read: plain loops, one after another.
#include <algorithm>
#include <cmath>
#include <exception>
#include <new>
#include <random>
#include <string>

#include "base/status_text.h"
#include "regard/lab.h"

namespace regard::lab {
namespace {

Matrix zeros(std::int64_t rows, std::int64_t cols) {
  constexpr double kMostValues = 0x1p48;  // keeps rows * cols far from overflow
  if (double(rows) * double(cols) > kMostValues) throw std::bad_alloc();
  return {rows, cols, std::vector<double>(std::size_t(rows * cols), 0.0)};
}

Matrix multiply(const Matrix& a, const Matrix& b) {
  Matrix product = zeros(a.rows, b.cols);
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t n = 0; n < a.cols; ++n)
      for (std::int64_t j = 0; j < b.cols; ++j) product.at(i, j) += a.at(i, n) * b.at(n, j);
  return product;
}

std::span<double> row_of(Matrix& matrix, std::int64_t i) {
  return std::span(matrix.values).subspan(std::size_t(i * matrix.cols), std::size_t(matrix.cols));
}

/// Scores become weights. Subtracting the largest score changes nothing but keeps exp from
/// overflowing.
void softmax(std::span<double> scores) {
  const double largest = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double& s : scores) {
    s = std::exp(s - largest);
    sum += s;
  }
  for (double& s : scores) s /= sum;
}

/// Row i is what token i reads: a weight for each of tokens 0..i, 0 for those that follow.
Matrix causal_weights(const Matrix& q, const Matrix& k, bool scale) {
  const double factor = scale ? 1 / std::sqrt(double(q.cols)) : 1;
  Matrix weights = zeros(q.rows, k.rows);
  for (std::int64_t i = 0; i < q.rows; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      double dot = 0;
      for (std::int64_t d = 0; d < q.cols; ++d) dot += q.at(i, d) * k.at(j, d);
      weights.at(i, j) = dot * factor;
    }
    softmax(row_of(weights, i).first(std::size_t(i + 1)));
  }
  return weights;
}

CausalResult attend(const CausalInput& input, bool scale) {
  CausalResult result;
  result.q = multiply(input.x, input.wq);
  result.k = multiply(input.x, input.wk);
  result.v = multiply(input.x, input.wv);
  result.weights = causal_weights(result.q, result.k, scale);
  result.out = multiply(result.weights, result.v);
  return result;
}

/// The larger of two figures; a NaN, once met, stays.
double worse(double a, double b) {
  return std::isnan(a) || a > b ? a : b;
}

void check_averages(const Matrix& weights, Facts& facts) {
  facts.largest_row_sum_error = 0;
  facts.smallest_weight = weights.values.front();
  for (std::int64_t i = 0; i < weights.rows; ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j < weights.cols; ++j) {
      sum += weights.at(i, j);
      facts.smallest_weight = std::min(facts.smallest_weight, weights.at(i, j));
    }
    facts.largest_row_sum_error = worse(facts.largest_row_sum_error, std::fabs(sum - 1));
  }
  facts.rows_are_averages = facts.largest_row_sum_error <= 1e-12 && facts.smallest_weight >= 0;
}

void check_leak(const Matrix& before, const Matrix& after, Facts& facts) {
  facts.largest_earlier_change = 0;
  facts.last_change = 0;
  for (std::int64_t i = 0; i < before.rows; ++i) {
    double& change = i + 1 < before.rows ? facts.largest_earlier_change : facts.last_change;
    for (std::int64_t d = 0; d < before.cols; ++d)
      change = worse(change, std::fabs(after.at(i, d) - before.at(i, d)));
  }
  facts.future_does_not_leak = facts.largest_earlier_change == 0 && facts.last_change > 0;
}

void check_scale(const CausalInput& wide, Facts& facts) {
  const std::int64_t last = wide.x.rows - 1;
  Matrix scaled = attend(wide, true).weights;
  Matrix unscaled = attend(wide, false).weights;
  facts.entropy_scaled = entropy(row_of(scaled, last));
  facts.entropy_unscaled = entropy(row_of(unscaled, last));
  facts.entropy_uniform = std::log(double(wide.x.rows));
  facts.scale_keeps_softmax_soft =
      facts.entropy_unscaled < facts.entropy_scaled / 2 && facts.entropy_scaled > 1.5;
}

Status require(const Matrix& matrix, const char* name, std::int64_t rows, std::int64_t cols) {
  const bool sound = rows >= 0 && cols >= 0 && matrix.rows == rows && matrix.cols == cols &&
                     double(matrix.values.size()) == double(rows) * double(cols);
  if (sound) return {};
  const auto shape = [](std::int64_t r, std::int64_t c) {
    return std::to_string(r).append(" x ").append(std::to_string(c));
  };
  return base::invalid(std::string(name) + ": " + std::to_string(matrix.values.size()) +
                       " values as " + shape(matrix.rows, matrix.cols) + " where " +
                       shape(rows, cols) + " is needed");
}

Status require_input(const CausalInput& input) {
  const std::int64_t d_model = input.x.cols, d_head = input.wq.cols;
  if (Status s = require(input.x, "x", input.x.rows, d_model); !s.ok()) return s;
  if (Status s = require(input.wq, "wq", d_model, d_head); !s.ok()) return s;
  if (Status s = require(input.wk, "wk", d_model, d_head); !s.ok()) return s;
  return require(input.wv, "wv", d_model, d_head);
}

Status out_of_memory() {
  return {StatusCode::out_of_memory, "memory ran out in the causal lab"};
}

}  // namespace

Status causal_attention(const CausalInput& input, bool scale, CausalResult& result) noexcept try {
  if (Status status = require_input(input); !status.ok()) return status;
  result = attend(input, scale);
  return {};
} catch (const std::exception&) {
  return out_of_memory();
}

double entropy(std::span<const double> weights) noexcept {
  double sum = 0;
  for (const double p : weights)
    if (p > 0) sum -= p * std::log(p);
  return sum;
}

Status check_facts(const CausalInput& input, const Matrix& edited_x, const CausalInput& wide,
                   Facts& facts) noexcept try {
  if (Status status = require_input(input); !status.ok()) return status;
  if (Status status = require_input(wide); !status.ok()) return status;
  Status status = require(edited_x, "edited_x", input.x.rows, input.x.cols);
  if (!status.ok()) return status;
  if (input.x.rows < 1 || wide.x.rows < 1) {
    return base::invalid("x: " + std::to_string(input.x.rows) + " tokens, and the wide x " +
                         std::to_string(wide.x.rows) + "; the facts need at least 1");
  }
  const CausalResult result = attend(input, true);
  const CausalResult edited = attend({edited_x, input.wq, input.wk, input.wv}, true);
  check_averages(result.weights, facts);
  check_leak(result.out, edited.out, facts);
  check_scale(wide, facts);
  return {};
} catch (const std::exception&) {
  return out_of_memory();
}

Status random_input(std::uint64_t seed, std::int64_t tokens, std::int64_t d_model,
                    std::int64_t d_head, CausalInput& input) noexcept try {
  if (tokens < 1 || d_model < 1 || d_head < 1) {
    return base::invalid("tokens, d_model, d_head: " + std::to_string(tokens) + ", " +
                         std::to_string(d_model) + " and " + std::to_string(d_head) +
                         ", each must be at least 1");
  }
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal;
  const auto fill = [&](std::int64_t rows, std::int64_t cols, double factor) {
    Matrix matrix = zeros(rows, cols);
    for (double& value : matrix.values) value = factor * normal(engine);
    return matrix;
  };
  const double factor = 1 / std::sqrt(double(d_model));
  input.x = fill(tokens, d_model, 1);
  input.wq = fill(d_model, d_head, factor);
  input.wk = fill(d_model, d_head, factor);
  input.wv = fill(d_model, d_head, factor);
  return {};
} catch (const std::exception&) {
  return out_of_memory();
}

Matrix edit_last_token(const Matrix& x) noexcept try {
  Matrix edited = x;
  if (x.rows > 0)
    for (double& value : row_of(edited, x.rows - 1)) value += 10;
  return edited;
} catch (const std::exception&) {
  return {};
}

}  // namespace regard::lab

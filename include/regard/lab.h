// The two teaching programs: plain loops in f64, written to be read, and the three facts about
// causal attention that they check.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "regard/export.h"
#include "regard/status.h"

namespace regard::lab {

/// A dense row-major matrix.
struct Matrix {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::vector<double> values;  ///< rows x cols

  double& at(std::int64_t r, std::int64_t c) { return values[std::size_t(r * cols + c)]; }
  double at(std::int64_t r, std::int64_t c) const { return values[std::size_t(r * cols + c)]; }
};

/// Input of single-head causal self-attention.
struct CausalInput {
  Matrix x;           ///< (tokens, d_model)
  Matrix wq, wk, wv;  ///< (d_model, d_head)
};

struct CausalResult {
  Matrix out;      ///< (tokens, d_head)
  Matrix weights;  ///< (tokens, tokens); row i is what token i reads
  Matrix q, k, v;  ///< (tokens, d_head)
};

/// softmax(q k' / sqrt(d_head)) v with q = x wq, k = x wk, v = x wv, token i reading tokens 0..i.
/// `scale` false leaves the division out. Errors: invalid_argument for shapes that disagree.
REGARD_API Status causal_attention(const CausalInput& input, bool scale,
                                   CausalResult& result) noexcept;

/// -sum p ln p over a row of weights, in nats.
REGARD_API double entropy(std::span<const double> weights) noexcept;

/// The three facts, each with the figure that decides it.
struct Facts {
  double largest_row_sum_error = 0;  ///< max |sum of a row - 1|
  double smallest_weight = 0;
  bool rows_are_averages = false;  ///< sums within 1e-12 of 1 and no negative weight

  double largest_earlier_change = 0;  ///< over all but the last token, after editing the last
  double last_change = 0;             ///< of the last token's output
  bool future_does_not_leak = false;  ///< earlier change exactly 0, last change above 0

  double entropy_scaled = 0;              ///< of the last row of `wide`, with 1/sqrt(d_head)
  double entropy_unscaled = 0;            ///< without
  double entropy_uniform = 0;             ///< ln(tokens), the largest possible
  bool scale_keeps_softmax_soft = false;  ///< unscaled < scaled / 2 and scaled > 1.5
};

/// Checks the first two facts on `input` (the second by comparing with `edited`, whose last token
/// alone differs) and the third on `wide`.
REGARD_API Status check_facts(const CausalInput& input, const Matrix& edited_x,
                              const CausalInput& wide, Facts& facts) noexcept;

/// A random lab: x and the weights normal, weights divided by sqrt(d_model); `edited_x` is x with
/// 10 added to the last token.
REGARD_API Status random_input(std::uint64_t seed, std::int64_t tokens, std::int64_t d_model,
                               std::int64_t d_head, CausalInput& input) noexcept;
/// Empty where memory runs out.
REGARD_API Matrix edit_last_token(const Matrix& x) noexcept;

/// One problem of the blocked program: dense q (B, Sq, D), k (B, Skv, D), v (B, Skv, Dv).
struct BlockedInput {
  std::int64_t batch = 0, sq = 0, skv = 0, d = 0, dv = 0;
  std::vector<double> q, k, v;
};

/// softmax(scale q k') v with the whole row of scores at once; out is (B, Sq, Dv).
REGARD_API Status plain_attention(const BlockedInput& input, double scale,
                                  std::vector<double>& out) noexcept;

/// The same with online softmax over tiles of `block` queries x `block` keys: a running maximum M,
/// a running sum L, and an accumulator rescaled whenever M rises. Any length, any block >= 1.
REGARD_API Status blocked_attention(const BlockedInput& input, double scale, std::int64_t block,
                                    std::vector<double>& out) noexcept;

}  // namespace regard::lab

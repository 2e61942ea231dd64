// Attention as anyone would first write it: sequential fma over d, true maximum, softmax and sums
// in `Compute`, results rounded to T. The yardstick for rms errors and, in long double, for the
// oracle. Serves scale, causal alignment, q_offset and grouped heads.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "regard/options.h"
#include "support/inputs.h"

namespace regard::test {

/// The definition of causal alignment, written once more for the tests.
inline bool sees(const Options& options, std::int64_t sq, std::int64_t skv, std::int64_t b,
                 std::int64_t i, std::int64_t j) {
  if (options.causal == Causal::none) return true;
  std::int64_t position = i;
  if (options.q_offset.size() == 1) {
    position += options.q_offset[0];
  } else if (!options.q_offset.empty()) {
    position += options.q_offset[std::size_t(b)];
  } else if (options.causal == Causal::bottom_right) {
    position += skv - sq;
  }
  return j <= position;
}

template <class T>
struct PlainResult {
  TestTensor<T> out, lse, weights;
};

/// One row: keys seen, their weights in `p`, and the natural logarithm of the sum.
template <class Compute, class T>
Compute plain_weights(const Inputs<T>& in, const Options& options, std::int64_t b, std::int64_t h,
                      std::int64_t i, std::vector<Compute>& p) {
  const auto [batch, heads, sq, d] = in.q.shape();
  const std::int64_t skv = in.k.shape()[2], kv_head = h / (heads / in.k.shape()[1]);
  const Compute scale = static_cast<Compute>(options.scale.value_or(1 / std::sqrt(double(d))));
  const Compute hidden = -std::numeric_limits<Compute>::infinity();
  p.assign(std::size_t(skv), hidden);
  Compute m = hidden, l = 0;
  for (std::int64_t j = 0; j < skv; ++j) {
    if (!sees(options, sq, skv, b, i, j)) continue;
    Compute dot = 0;
    for (std::int64_t c = 0; c < d; ++c) {
      dot = std::fma(static_cast<Compute>(in.q.at(b, h, i, c)),
                     static_cast<Compute>(in.k.at(b, kv_head, j, c)), dot);
    }
    p[std::size_t(j)] = scale * dot;
    m = std::max(m, p[std::size_t(j)]);
  }
  for (Compute& x : p) {
    x = x == hidden ? Compute(0) : std::exp(x - m);
    l += x;
  }
  for (Compute& x : p) x = l > 0 ? x / l : Compute(0);
  return l > 0 ? m + std::log(l) : hidden;
}

template <class Compute, class T>
PlainResult<T> plain_attention(const Inputs<T>& in, const Options& options) {
  Shape shape = in.q.shape(), lse_shape = shape, weights_shape = shape;
  shape[3] = in.v.shape()[3];
  lse_shape[3] = 1;
  weights_shape[3] = in.k.shape()[2];
  PlainResult<T> result{TestTensor<T>(shape), TestTensor<T>(lse_shape),
                        TestTensor<T>(weights_shape)};
  std::vector<Compute> p;
  const auto row = [&](std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t) {
    const std::int64_t kv_head = h / (in.q.shape()[1] / in.k.shape()[1]);
    const Compute lse = plain_weights<Compute>(in, options, b, h, i, p);
    result.lse.at(b, h, i, 0) = static_cast<T>(lse);
    for (std::int64_t j = 0; j < weights_shape[3]; ++j)
      result.weights.at(b, h, i, j) = static_cast<T>(p[std::size_t(j)]);
    for (std::int64_t c = 0; c < shape[3]; ++c) {
      Compute o = 0;
      for (std::int64_t j = 0; j < weights_shape[3]; ++j)
        o = std::fma(p[std::size_t(j)], static_cast<Compute>(in.v.at(b, kv_head, j, c)), o);
      result.out.at(b, h, i, c) = static_cast<T>(o);
    }
  };
  for_each_index(lse_shape, row);
  return result;
}

}  // namespace regard::test

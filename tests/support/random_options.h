// Random combinations of options with the memory they refer to.
#pragma once

#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "regard/options.h"
#include "support/random.h"
#include "support/shapes.h"

namespace regard::test {

/// Each option is present with chance 1/2 or so. bias, slopes and sinks are f64.
struct RandomOptions {
  Options options;
  TestTensor<double> bias, slopes, sinks;
  std::vector<unsigned char> mask;
  std::vector<std::int64_t> q_offset, q_len, kv_len;

  RandomOptions(const ProblemShape& shape, std::uint64_t seed) : engine_(seed) {
    if (coin()) options.scale = std::normal_distribution<double>(0.2, 0.5)(engine_);
    if (coin()) options.softcap = std::uniform_real_distribution<double>(0.3, 5)(engine_);
    options.causal = Causal(pick(0, 2));
    if (coin()) options.window = {pick(-1, shape.skv), pick(-1, shape.skv)};
    if (coin()) fill(q_offset, coin() ? 1 : shape.batch, -2, shape.skv + 1);
    if (coin()) fill(q_len, shape.batch, 0, shape.sq);
    if (coin()) fill(kv_len, shape.batch, 0, shape.skv);
    options.q_offset = q_offset;
    options.q_len = q_len;
    options.kv_len = kv_len;
    if (coin()) add_mask(shape);
    if (coin()) add_bias(shape);
    if (coin()) {
      slopes =
          uniform_tensor<double>({coin() ? 1 : shape.batch, shape.heads(), 1, 1}, engine_(), 0, 1);
      options.alibi_slopes = slopes.view();
    }
    if (coin()) {
      sinks = normal_tensor<double>({1, shape.heads(), 1, 1}, engine_());
      options.sinks = sinks.view();
    }
  }
  RandomOptions(const RandomOptions&) = delete;
  RandomOptions& operator=(const RandomOptions&) = delete;

 private:
  bool coin() { return (engine_() & 1) != 0; }
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  void fill(std::vector<std::int64_t>& numbers, std::int64_t count, std::int64_t low,
            std::int64_t high) {
    for (std::int64_t n = 0; n < count; ++n) numbers.push_back(pick(low, high));
  }
  /// Any axis may be broadcast.
  Shape broadcast_shape(const ProblemShape& shape) {
    Shape result = shape.weights();
    for (std::int64_t& size : result)
      if (coin()) size = 1;
    return result;
  }
  void add_mask(const ProblemShape& shape) {
    const Shape size = broadcast_shape(shape);
    for (std::int64_t n = 0; n < element_count(size); ++n) mask.push_back(pick(0, 2) > 0 ? 7 : 0);
    options.mask = {mask.data(), DType::boolean, size, dense_strides(size)};
  }
  void add_bias(const ProblemShape& shape) {
    bias = normal_tensor<double>(broadcast_shape(shape), engine_());
    for_each_index(bias.shape(), [&](auto b, auto h, auto i, auto j) {
      if (pick(0, 5) == 0) bias.at(b, h, i, j) = -std::numeric_limits<double>::infinity();
    });
    options.bias = bias.view();
  }

  std::mt19937_64 engine_;
};

}  // namespace regard::test

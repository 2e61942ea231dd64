// Seeded random tensors. The same seed and shape give the same logical values in every layout,
// and f32 values are the rounded f64 ones.
#pragma once

#include <cstdint>
#include <random>

#include "support/test_tensor.h"

namespace regard::test {

template <class T>
void fill_normal(TestTensor<T>& tensor, std::uint64_t seed, double mean = 0, double deviation = 1) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal(mean, deviation);
  for_each_index(tensor.shape(),
                 [&](std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) {
                   tensor.at(b, h, s, d) = converted<T>(normal(engine));
                 });
}

template <class T>
void fill_uniform(TestTensor<T>& tensor, std::uint64_t seed, double low, double high) {
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<double> uniform(low, high);
  for_each_index(tensor.shape(),
                 [&](std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) {
                   tensor.at(b, h, s, d) = converted<T>(uniform(engine));
                 });
}

template <class T>
TestTensor<T> normal_tensor(const Shape& shape, std::uint64_t seed, Layout layout = Layout::bhsd,
                            double deviation = 1) {
  TestTensor<T> tensor(shape, layout);
  fill_normal(tensor, seed, 0, deviation);
  return tensor;
}

template <class T>
TestTensor<T> uniform_tensor(const Shape& shape, std::uint64_t seed, double low, double high,
                             Layout layout = Layout::bhsd) {
  TestTensor<T> tensor(shape, layout);
  fill_uniform(tensor, seed, low, high);
  return tensor;
}

}  // namespace regard::test

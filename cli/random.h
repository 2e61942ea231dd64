// Normal random numbers, the same for a seed on every machine that shares a standard library.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace regard::cli {

template <class T>
std::vector<T> normal_numbers(std::int64_t count, std::mt19937_64& engine) {
  std::normal_distribution<T> normal;
  std::vector<T> numbers(std::size_t(count), T(0));
  for (T& number : numbers) number = normal(engine);
  return numbers;
}

}  // namespace regard::cli

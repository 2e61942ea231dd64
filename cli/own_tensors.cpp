#include "own_tensors.h"

#include <algorithm>
#include <cstring>

#include "bench_grid.h"
#include "random.h"
#include "regard/half.h"

namespace regard::cli {
namespace {

template <class T>
void store_normal(std::byte* to, std::int64_t count, std::mt19937_64& engine) {
  const std::vector<T> numbers = normal_numbers<T>(count, engine);
  std::memcpy(to, numbers.data(), numbers.size() * sizeof(T));
}

template <class Half>
void store_normal(std::byte* to, std::int64_t count, std::mt19937_64& engine,
                  Half (*convert)(float) noexcept) {
  const std::vector<float> numbers = normal_numbers<float>(count, engine);
  std::vector<Half> halves(numbers.size());
  std::transform(numbers.begin(), numbers.end(), halves.begin(), convert);
  std::memcpy(to, halves.data(), halves.size() * sizeof(Half));
}

}  // namespace

Tensor OwnTensors::unset(const Shape& shape, DType dtype) {
  const std::int64_t bytes = count_of(shape) * element_bytes(dtype);
  auto* memory = static_cast<std::byte*>(::operator new(std::size_t(bytes), kAlignment));
  memory_.emplace_back(memory);
  return {memory, dtype, shape, dense_strides(shape)};
}

ConstTensor OwnTensors::normal(const Shape& shape, DType dtype, std::mt19937_64& engine) {
  const std::int64_t count = count_of(shape);
  const Tensor tensor = unset(shape, dtype);
  auto* numbers = static_cast<std::byte*>(tensor.data);
  switch (dtype) {
    case DType::f64:
      store_normal<double>(numbers, count, engine);
      break;
    case DType::f16:
      store_normal<F16>(numbers, count, engine, to_f16);
      break;
    case DType::bf16:
      store_normal<BF16>(numbers, count, engine, to_bf16);
      break;
    default:
      store_normal<float>(numbers, count, engine);
  }
  return tensor;
}

}  // namespace regard::cli

#include "timed_call.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "command.h"
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

TimedCall::TimedCall(const Workload& workload) : context_(workload.threads) {
  const BenchShape& shape = workload.shape;
  std::mt19937_64 engine(1);
  q_ = normal_tensor(shape.q(), workload.dtype, engine);
  k_ = normal_tensor(shape.k(), workload.dtype, engine);
  v_ = normal_tensor(shape.v(), workload.dtype, engine);
  const std::int64_t bytes = count_of(shape.out()) * element_bytes(workload.dtype);
  outputs_.out = {allocate(bytes), workload.dtype, shape.out(), dense_strides(shape.out())};
  options_.causal = workload.mask.causal;
  options_.window = workload.mask.window;
}

std::byte* TimedCall::allocate(std::int64_t bytes) {
  auto* memory = static_cast<std::byte*>(::operator new(std::size_t(bytes), kAlignment));
  memory_.emplace_back(memory);
  return memory;
}

ConstTensor TimedCall::normal_tensor(const Shape& shape, DType dtype, std::mt19937_64& engine) {
  const std::int64_t count = count_of(shape);
  std::byte* numbers = allocate(count * element_bytes(dtype));
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
  return {numbers, dtype, shape, dense_strides(shape)};
}

Explanation TimedCall::explanation() const {
  Explanation explanation;
  require(explain(context_, q_, k_, v_, outputs_, options_, explanation));
  return explanation;
}

double TimedCall::seconds(int calls) const {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  for (int call = 0; call < calls; ++call) {
    require(forward(context_, q_, k_, v_, outputs_, options_));
  }
  return std::chrono::duration<double>(Clock::now() - start).count() / calls;
}

CheckReport TimedCall::check_sample() const {
  CheckReport report;
  CheckSettings settings;
  settings.rows = kCheckedRows;
  settings.find_convention = false;
  require(check(q_, k_, v_, options_, outputs_.out, {}, settings, report));
  return report;
}

}  // namespace regard::cli

// What a small forward call costs, threads and fixed cost included: the whole public call, context
// reused, output given. Answers are checked by `regard bench`, which times the large shapes.
//
//   forward_bench --benchmark_filter=causal
#include <benchmark/benchmark.h>

#include <cstdint>
#include <random>
#include <vector>

#include "regard/attention.h"

namespace regard {
namespace {

std::vector<float> normal_numbers(std::int64_t count, unsigned seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<float> normal;
  std::vector<float> numbers(std::size_t(count), 0.0F);
  for (float& number : numbers) number = normal(engine);
  return numbers;
}

/// Arguments: heads, S, D, threads.
void forward_calls(benchmark::State& state, Causal causal) {
  const Shape shape{1, state.range(0), state.range(1), state.range(2)};
  const std::int64_t count = shape[1] * shape[2] * shape[3];
  const std::vector<float> q = normal_numbers(count, 1);
  const std::vector<float> k = normal_numbers(count, 2);
  const std::vector<float> v = normal_numbers(count, 3);
  std::vector<float> out(q.size());
  const Context context(int(state.range(3)));
  Options options;
  options.causal = causal;
  Outputs outputs;
  outputs.out = view(out.data(), shape);
  for (auto _ : state) {
    const Status status = forward(context, view(q.data(), shape), view(k.data(), shape),
                                  view(v.data(), shape), outputs, options);
    if (!status.ok()) {
      state.SkipWithError(status.message().c_str());
      break;
    }
    benchmark::DoNotOptimize(out.data());
  }
  const double pairs = double(count) * double(shape[2]) / (causal == Causal::none ? 1 : 2);
  state.counters["flops"] = benchmark::Counter(
      4 * pairs, benchmark::Counter::kIsIterationInvariantRate, benchmark::Counter::kIs1000);
}

void small_shapes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"heads", "S", "D", "threads"})->UseRealTime();
  bench->Args({1, 1, 8, 1})->Args({1, 16, 32, 1});
  for (const std::int64_t heads : {1, 8}) {
    for (const std::int64_t length : {32, 64, 128, 256}) {
      for (const std::int64_t threads : {1, 2}) bench->Args({heads, length, 64, threads});
    }
  }
}

BENCHMARK_CAPTURE(forward_calls, plain, Causal::none)->Apply(small_shapes);
BENCHMARK_CAPTURE(forward_calls, causal, Causal::top_left)->Apply(small_shapes);

}  // namespace
}  // namespace regard

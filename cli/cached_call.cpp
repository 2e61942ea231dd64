#include "cached_call.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "bench_grid.h"
#include "command.h"
#include "kv_types.h"
#include "random.h"
#include "regard/half.h"
#include "regard/machine.h"

namespace regard::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::int64_t layers_of(const DecodeWorkload& workload) {
  if (workload.memory == MemoryKind::cache) return 1;
  constexpr std::int64_t kUnknownCache = std::int64_t{32} << 20;
  MachineInfo machine;
  require(describe_machine(machine));
  const std::int64_t last = machine.cache_bytes.back();
  const std::int64_t others = 4 * (last > 0 ? last : kUnknownCache);
  return 2 + (others - 1) / workload.bytes();
}

/// `tokens` is those of a page, or of the longest sequence for a contiguous cache.
std::int64_t page_tokens_of(const DecodeWorkload& workload) {
  constexpr std::int64_t kStep = 16;
  return workload.page_tokens > 0 ? workload.page_tokens
                                  : (workload.keys + kStep - 1) / kStep * kStep;
}

KvCache cache_of(const DecodeWorkload& workload, std::int64_t sequences) {
  KvCacheOptions options;
  options.k_type = workload.types.k;
  options.v_type = workload.types.v;
  options.kv_heads = workload.kv_heads;
  options.k_head_size = options.v_head_size = workload.head_size;
  options.page_tokens = page_tokens_of(workload);
  options.pages = sequences * ((workload.keys + options.page_tokens - 1) / options.page_tokens);
  KvCache cache;
  require(KvCache::create(options, cache));
  return cache;
}

/// Tokens of normal numbers, K and V, and any stretch of them as tensors.
struct Tokens {
  Tokens(const DecodeWorkload& workload, std::int64_t count, std::mt19937_64& engine)
      : shape{1, workload.kv_heads, count, workload.head_size},
        k(normal_numbers<float>(count_of(shape), engine)),
        v(normal_numbers<float>(count_of(shape), engine)) {}

  ConstTensor slice(const std::vector<float>& numbers, std::int64_t begin,
                    std::int64_t count) const {
    ConstTensor tensor = view(numbers.data() + begin * shape[3], shape);
    tensor.shape[2] = count;
    return tensor;
  }
  void append_to(KvCache& cache, std::int64_t sequence, std::int64_t begin,
                 std::int64_t end) const {
    require(cache.append(sequence, slice(k, begin, end - begin), slice(v, begin, end - begin)));
  }

  Shape shape;
  std::vector<float> k, v;
};

/// Dense queries in f32, which holds those of half types as they are.
std::vector<float> widened(const ConstTensor& q) {
  std::vector<float> wide(std::size_t(count_of(q.shape)), 0.0F);
  for (std::size_t n = 0; n < wide.size(); ++n) {
    wide[n] = q.dtype == DType::f16    ? to_float(static_cast<const F16*>(q.data)[n])
              : q.dtype == DType::bf16 ? to_float(static_cast<const BF16*>(q.data)[n])
                                       : static_cast<const float*>(q.data)[n];
  }
  return wide;
}

/// Judges `out` of one sequence.
CheckReport judge(const KvCache& cache, std::int64_t sequence, const ConstTensor& q,
                  const ConstTensor& out) {
  const KvCacheOptions& options = cache.options();
  const Shape shape = {1, options.kv_heads, cache.length(sequence), options.k_head_size};
  std::vector<float> k(std::size_t(count_of(shape)), 0.0F), v(k);
  require(cache.gather(sequence, 0, view(k.data(), shape), view(v.data(), shape)));
  CheckSettings settings;
  settings.rows = kCheckedRows;
  settings.find_convention = false;
  CheckReport report;
  const std::vector<float> queries = widened(q);
  require(check(view(queries.data(), q.shape), view<float>(k.data(), shape),
                view<float>(v.data(), shape), {}, out, {}, settings, report));
  return report;
}

}  // namespace

const char* memory_name(MemoryKind memory) noexcept {
  return memory == MemoryKind::ram ? "ram" : "cache";
}

std::int64_t DecodeWorkload::bytes() const {
  return kv_heads * keys * kv_token_bytes(types, head_size, head_size);
}

CachedCall::CachedCall(const DecodeWorkload& workload)
    : workload_(workload),
      cache_(cache_of(workload, layers_of(workload))),
      context_(workload.threads) {
  std::mt19937_64 engine(1);
  fill(engine);
  const Shape shape = {1, workload.kv_heads * workload.rows, 1, workload.head_size};
  q_ = memory_.normal(shape, workload.q_dtype, engine);
  outputs_.out = memory_.unset(shape, workload.q_dtype);
}

/// All layers hold the same numbers. Pages come to them in random order, so that those of a layer
/// are scattered over the pool.
void CachedCall::fill(std::mt19937_64& engine) {
  const Tokens tokens(workload_, workload_.keys, engine);
  layers_.resize(std::size_t(layers_of(workload_)));
  for (std::int64_t& layer : layers_) require(cache_.add(layer));
  const std::int64_t step = page_tokens_of(workload_);
  std::vector<std::int64_t> order;
  for (std::int64_t begin = 0; begin < workload_.keys; begin += step) {
    order.insert(order.end(), layers_.begin(), layers_.end());
  }
  std::shuffle(order.begin(), order.end(), engine);
  for (const std::int64_t layer : order) {
    const std::int64_t begin = cache_.length(layer);
    tokens.append_to(cache_, layer, begin, std::min(begin + step, workload_.keys));
  }
}

void CachedCall::call(std::int64_t layer) const {
  require(decode(context_, q_, cache_, {&layers_[std::size_t(layer)], 1}, {}, outputs_));
}

double CachedCall::seconds(std::int64_t layer, int calls) const {
  call((layer == 0 ? layers() : layer) - 1);
  const auto start = Clock::now();
  for (int n = 0; n < calls; ++n) call(layer);
  return seconds_since(start) / calls;
}

double CachedCall::read_seconds(std::int64_t layer, int reads) const {
  const int threads = workload_.threads;
  std::vector<double> times(std::size_t(threads), 0.0);
  std::vector<Status> outcomes(times.size());
  std::atomic<int> waiting{threads};
  const auto read = [&](int part) {
    const CacheRead what = {layers_[std::size_t(layer)], part, threads};
    Status& outcome = outcomes[std::size_t(part)];
    --waiting;
    while (waiting.load() > 0) std::this_thread::yield();  // all begin together
    for (int n = 0; n < reads && outcome.ok(); ++n) {
      double seconds = 0;
      outcome = measure_read(cache_, what, seconds);
      times[std::size_t(part)] += seconds;
    }
  };
  std::vector<std::thread> others;
  for (int part = 1; part < threads; ++part) others.emplace_back(read, part);
  read(0);
  for (std::thread& thread : others) thread.join();
  for (const Status& outcome : outcomes) require(outcome);
  return *std::max_element(times.begin(), times.end()) / reads;
}

CheckReport CachedCall::check_sample(std::int64_t layer) const {
  call(layer);
  return judge(cache_, layers_[std::size_t(layer)], q_, outputs_.out);
}

SharedCall::SharedCall(const SharedWorkload& workload)
    : workload_(workload),
      cache_(cache_of(workload.each, workload.sequences + 1)),
      context_(workload.each.threads) {
  std::mt19937_64 engine(1);
  const DecodeWorkload& each = workload.each;
  std::int64_t first = 0;
  require(cache_.add(first));
  Tokens(each, workload.prefix, engine).append_to(cache_, first, 0, workload.prefix);
  for (std::int64_t n = 0; n < workload.sequences; ++n) {
    std::int64_t fork = 0;
    require(cache_.fork(first, fork));
    const std::int64_t own = each.keys - workload.prefix;
    Tokens(each, own, engine).append_to(cache_, fork, 0, own);
    forks_.push_back(fork);
  }
  const Shape shape = {workload.sequences, each.kv_heads * each.rows, 1, each.head_size};
  q_ = memory_.normal(shape, each.q_dtype, engine);
  outputs_.out = memory_.unset(shape, each.q_dtype);
}

ConstTensor SharedCall::queries_of(std::size_t n) const {
  ConstTensor own = q_;
  own.shape[0] = 1;
  own.data = static_cast<const std::byte*>(q_.data) +
             std::int64_t(n) * q_.strides[0] * element_bytes(q_.dtype);
  return own;
}

Tensor SharedCall::out_of(std::size_t n) const {
  Tensor own = outputs_.out;
  own.shape[0] = 1;
  own.data = static_cast<std::byte*>(own.data) +
             std::int64_t(n) * own.strides[0] * element_bytes(own.dtype);
  return own;
}

double SharedCall::seconds_together() const {
  const auto start = Clock::now();
  require(decode(context_, q_, cache_, forks_, {}, outputs_));
  return seconds_since(start);
}

double SharedCall::seconds_apart() const {
  const auto start = Clock::now();
  for (std::size_t n = 0; n < forks_.size(); ++n) {
    Outputs outputs;
    outputs.out = out_of(n);
    require(decode(context_, queries_of(n), cache_, {&forks_[n], 1}, {}, outputs));
  }
  return seconds_since(start);
}

CheckReport SharedCall::check_sample() const {
  seconds_together();
  const std::size_t last = forks_.size() - 1;
  return judge(cache_, forks_.back(), queries_of(last), out_of(last));
}

}  // namespace regard::cli

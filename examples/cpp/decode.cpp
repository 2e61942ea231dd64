// Generating tokens: keys and values are kept as int8, one new token at a time is appended and
// attends to all before it. 8 query heads share 2 KV heads.
#include <regard/decode.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

/// Stands in for a model's projections.
void project(std::vector<float>& numbers, std::int64_t token) {
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    numbers[n] =
        static_cast<float>(std::sin(static_cast<double>(n + 1) * static_cast<double>(token + 1)));
  }
}

regard::Status generate(const regard::Context& context, regard::KvCache& cache, int tokens) {
  constexpr std::int64_t heads = 8, kv_heads = 2, d = 64;
  std::vector<float> q(heads * d), k(kv_heads * d), v(kv_heads * d), out(heads * d);
  std::int64_t sequence = 0;
  regard::Status status = cache.add(sequence);
  for (std::int64_t token = 0; status.ok() && token < tokens; ++token) {
    project(q, token);
    project(k, token + 1);
    project(v, token + 2);
    status = cache.append(sequence, regard::view(k.data(), {1, kv_heads, 1, d}),
                          regard::view(v.data(), {1, kv_heads, 1, d}));
    if (!status.ok()) break;
    regard::Outputs outputs;
    outputs.out = regard::view(out.data(), {1, heads, 1, d});
    const std::vector<std::int64_t> sequences = {sequence};
    status = regard::decode(context, regard::view(q.data(), {1, heads, 1, d}), cache, sequences, {},
                            outputs);
  }
  if (!status.ok()) return status;
  std::printf("%lld tokens in %lld bytes; last out %.3f %.3f %.3f\n",
              static_cast<long long>(cache.length(sequence)),
              static_cast<long long>(cache.bytes_used()), double(out[0]), double(out[1]),
              double(out[2]));
  return status;
}

}  // namespace

int main() {
  regard::KvCacheOptions options;
  options.k_type = options.v_type = regard::KvType::int8;
  options.kv_heads = 2;
  options.k_head_size = options.v_head_size = 64;
  options.pages = 4;  // of 64 tokens
  regard::KvCache cache;
  regard::Status status = regard::KvCache::create(options, cache);
  const regard::Context context;
  if (status.ok()) status = generate(context, cache, 100);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.message().c_str());
  return 2;
}

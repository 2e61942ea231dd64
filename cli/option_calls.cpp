#include "option_calls.h"

#include <algorithm>
#include <cmath>

#include "bench_grid.h"
#include "random.h"
#include "regard/half.h"

namespace regard::cli {
namespace {

constexpr std::int64_t kChosenRows = 16;
constexpr std::int64_t kTop = 8;

float* normal_array(Call& call, const Shape& shape) {
  float* numbers = call.memory.array<float>(count_of(shape));
  std::ranges::copy(normal_numbers<float>(count_of(shape), call.engine), numbers);
  return numbers;
}

ConstTensor normal_view(Call& call, const Shape& shape) {
  return view(static_cast<const float*>(normal_array(call, shape)), shape);
}

/// True where sees(row, key) says so.
template <class Sees>
void mask_by(Call& call, const Shape& shape, const Sees& sees) {
  bool* mask = call.memory.array<bool>(count_of(shape));
  for (std::int64_t n = 0; n < count_of(shape); ++n) {
    mask[n] = sees(n / shape[3] % shape[2], n % shape[3]);
  }
  call.options.mask = view(static_cast<const bool*>(mask), shape);
}

Shape pairs(const Call& call) {
  return {1, call.shape[1], call.shape[2], call.shape[2]};
}

void mask_all_true(Call& call) {
  mask_by(call, pairs(call), [](auto, auto) { return true; });
}
void mask_causal(Call& call) {
  mask_by(call, {1, 1, call.shape[2], call.shape[2]}, [](auto i, auto j) { return j <= i; });
}
void mask_padding(Call& call) {
  const std::int64_t keys = call.shape[2];
  mask_by(call, {call.shape[0], 1, 1, keys}, [&](auto, auto j) { return j < keys - keys / 8; });
}

void bias_dense(Call& call) {
  call.options.bias = normal_view(call, pairs(call));
}
void bias_of_keys(Call& call) {
  call.options.bias = normal_view(call, {1, call.shape[1], 1, call.shape[2]});
}

void alibi(Call& call) {
  float* slopes = call.memory.array<float>(call.shape[1]);
  for (std::int64_t h = 0; h < call.shape[1]; ++h) slopes[h] = std::exp2(-float(h % 8 + 1));
  call.options.alibi_slopes = view_per_head(static_cast<const float*>(slopes), call.shape[1]);
}
void softcap(Call& call) {
  call.options.softcap = 20;
}
void sinks(Call& call) {
  call.options.sinks = normal_view(call, {1, call.shape[1], 1, 1});
}

void window(Call& call) {
  call.options.causal = Causal::top_left;
  call.options.window = last_n_keys(256);
}

/// Every row's scores rise by 40 with every 192 keys, and so from each block of keys to the next by
/// more than the 32 ln 2 that make a row raise its reference.
void growing_scores(Call& call) {
  const std::int64_t d = call.shape[3];
  for (std::int64_t n = 0; n < count_of(call.shape); n += d) {
    call.queries[n] = std::sqrt(float(d));
    call.keys[n] = 40.0F / 192 * float(n / d % call.shape[2]);
  }
}

template <class Half>
void store_as(Call& call, Half (*convert)(float) noexcept) {
  const std::int64_t count = count_of(call.shape);
  for (ConstTensor* tensor : {&call.q, &call.k, &call.v}) {
    const auto* from = static_cast<const float*>(tensor->data);
    Half* to = call.memory.array<Half>(count);
    std::transform(from, from + count, to, convert);
    *tensor = view(static_cast<const Half*>(to), call.shape);
  }
  call.outputs.out = view(call.memory.array<Half>(count), call.shape);
}
void bf16(Call& call) {
  store_as<BF16>(call, to_bf16);
}
void f16(Call& call) {
  store_as<F16>(call, to_f16);
}

template <class T>
Tensor result(Call& call, const Shape& shape) {
  return view(call.memory.array<T>(count_of(shape)), shape);
}
Shape per_row(const Call& call, std::int64_t columns) {
  return {call.shape[0], call.shape[1], call.shape[2], columns};
}

void lse(Call& call) {
  call.outputs.lse = result<float>(call, per_row(call, 1));
}
void chosen_weights(Call& call) {
  const std::int64_t count = std::min(kChosenRows, call.shape[2]);
  for (std::int64_t n = 0; n < count; ++n) call.rows.push_back(n * call.shape[2] / count);
  call.options.rows = call.rows;
  call.outputs.weights = result<float>(call, {call.shape[0], call.shape[1], count, call.shape[2]});
}
void entropy(Call& call) {
  call.outputs.entropy = result<float>(call, per_row(call, 1));
}
void top(Call& call) {
  call.outputs.top_weights = result<float>(call, per_row(call, kTop));
  call.outputs.top_keys = result<std::int64_t>(call, per_row(call, kTop));
}
void key_mass(Call& call) {
  call.outputs.key_mass = result<float>(call, {call.shape[0], call.shape[1], 1, call.shape[2]});
}

constexpr OptionEntry kEntries[] = {
    {"mask (1,H,S,S), all true", Against::plain, 1 / 0.8, mask_all_true},
    {"mask (1,1,S,S), lower triangle", Against::causal, 1.3, mask_causal},
    {"mask (B,1,1,S), 1/8 of the keys hidden", Against::plain, 0, mask_padding},
    {"bias (1,H,S,S)", Against::plain, 0, bias_dense},
    {"bias (1,H,1,S)", Against::plain, 0, bias_of_keys},
    {"alibi_slopes", Against::plain, 0, alibi},
    {"softcap", Against::plain, 0, softcap},
    {"sinks", Against::plain, 0, sinks},
    {"window (255,0) and causal, 8 S", Against::longer, 1.0 / 20, window},
    {"growing scores", Against::plain, 2.5, growing_scores},
    {"bf16 inputs and out", Against::plain, 0, bf16},
    {"f16 inputs and out", Against::plain, 0, f16},
    {"lse", Against::plain, 0, lse},
    {"weights of 16 rows", Against::plain, 0, chosen_weights},
    {"entropy", Against::plain, 0, entropy},
    {"top 8 keys", Against::plain, 0, top},
    {"key_mass", Against::plain, 0, key_mass},
};

}  // namespace

Call::Call(const Shape& s) : shape(s) {
  queries = normal_array(*this, shape);
  keys = normal_array(*this, shape);
  q = view(static_cast<const float*>(queries), shape);
  k = view(static_cast<const float*>(keys), shape);
  v = normal_view(*this, shape);
  outputs.out = view(memory.array<float>(count_of(shape)), shape);
}

std::span<const OptionEntry> option_entries() noexcept {
  return kEntries;
}

}  // namespace regard::cli

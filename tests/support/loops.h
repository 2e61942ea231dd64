// Attention with every option as plain loops in `C`, each step of the definition a function that a
// test can replace by a mistake. bias, slopes and sinks are f64.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "regard/options.h"
#include "support/inputs.h"

namespace regard::test {

inline double broadcast_at(const ConstTensor& t, std::int64_t b, std::int64_t h, std::int64_t i,
                           std::int64_t j) {
  const std::int64_t index[] = {b, h, i, j};
  std::int64_t offset = 0;
  for (std::size_t axis = 0; axis < 4; ++axis)
    offset += (t.shape[axis] == 1 ? 0 : index[axis]) * t.strides[axis];
  if (t.dtype == DType::boolean) return static_cast<const unsigned char*>(t.data)[offset];
  return static_cast<const double*>(t.data)[offset];
}

inline std::int64_t of_entry(std::span<const std::int64_t> numbers, std::int64_t b,
                             std::int64_t otherwise) {
  return numbers.empty() ? otherwise : numbers[numbers.size() == 1 ? 0 : std::size_t(b)];
}

struct LoopRow {
  std::int64_t b, h, i;
};

/// The definition. Members stand in the order in which a row uses them.
template <class C>
struct Loops {
  static constexpr C kNone = -std::numeric_limits<C>::infinity();

  std::int64_t sq, skv;
  Options options;
  std::function<bool(LoopRow)> exists;
  std::function<std::int64_t(LoopRow)> position;
  std::function<bool(LoopRow, std::int64_t j)> sees;
  std::function<std::int64_t(std::int64_t h)> kv_head;
  /// From q.k to the score that is weighed.
  std::function<C(C dot, LoopRow, std::int64_t j)> score;
  std::function<C(std::int64_t h)> sink;
  /// From the sum of weights, their reference and the largest q.k to the LSE.
  std::function<C(C l, C m, C largest_dot)> lse;

  Loops(const ProblemShape& shape, const Options& given)
      : sq(shape.sq), skv(shape.skv), options(given) {
    const C scale = C(options.scale.value_or(1 / std::sqrt(double(shape.d))));
    exists = [this](LoopRow r) { return r.i < of_entry(options.q_len, r.b, sq); };
    position = [this](LoopRow r) {
      const bool bottom = options.causal == Causal::bottom_right;
      const auto keys = of_entry(options.kv_len, r.b, skv), rows = of_entry(options.q_len, r.b, sq);
      return r.i + of_entry(options.q_offset, r.b, bottom ? keys - rows : 0);
    };
    sees = [this](LoopRow r, std::int64_t j) {
      const std::int64_t here = position(r);
      if (j >= of_entry(options.kv_len, r.b, skv)) return false;
      if (options.causal != Causal::none && j > here) return false;
      if (options.window.left >= 0 && j < here - options.window.left) return false;
      if (options.window.right >= 0 && j > here + options.window.right) return false;
      if (options.mask.data && broadcast_at(options.mask, r.b, r.h, r.i, j) == 0) return false;
      return !options.bias.data || broadcast_at(options.bias, r.b, r.h, r.i, j) != -HUGE_VAL;
    };
    kv_head = [group = shape.group](std::int64_t h) { return h / group; };
    score = [this, scale](C dot, LoopRow r, std::int64_t j) {
      return biased(capped(scale * dot), r, j);
    };
    sink = [this](std::int64_t h) {
      return options.sinks.data ? C(broadcast_at(options.sinks, 0, h, 0, 0)) : kNone;
    };
    lse = [](C l, C m, C) { return m + std::log(l); };
  }
  Loops(const Loops&) = delete;
  Loops& operator=(const Loops&) = delete;

  C capped(C s) const {
    const C c = C(options.softcap);
    return c > 0 ? c * std::tanh(s / c) : s;
  }
  C bias(LoopRow r, std::int64_t j) const {
    return options.bias.data ? C(broadcast_at(options.bias, r.b, r.h, r.i, j)) : C(0);
  }
  C slope(LoopRow r) const {
    const ConstTensor& slopes = options.alibi_slopes;
    return slopes.data ? C(broadcast_at(slopes, r.b, r.h, 0, 0)) : C(0);
  }
  C biased(C s, LoopRow r, std::int64_t j) const {
    return s + bias(r, j) - slope(r) * C(std::abs(position(r) - j));
  }
};

template <class T>
struct LoopResult {
  TestTensor<T> out, lse, weights;
};

template <class C, class T>
void run_row(const Loops<C>& loops, const Inputs<T>& in, LoopRow r, LoopResult<T>& result) {
  const auto [b, h, i] = r;
  const std::int64_t kv = loops.kv_head(h), d = in.q.shape()[3], dv = in.v.shape()[3];
  std::vector<C> p(std::size_t(loops.skv), Loops<C>::kNone);
  const bool exists = loops.exists(r);
  C m = exists ? loops.sink(h) : Loops<C>::kNone, largest_dot = Loops<C>::kNone;
  for (std::int64_t j = 0; exists && j < loops.skv; ++j) {
    if (!loops.sees(r, j)) continue;
    C dot = 0;
    for (std::int64_t c = 0; c < d; ++c)
      dot = std::fma(C(in.q.at(b, h, i, c)), C(in.k.at(b, kv, j, c)), dot);
    p[std::size_t(j)] = loops.score(dot, r, j);
    m = std::max(m, p[std::size_t(j)]);
    largest_dot = std::max(largest_dot, dot);
  }
  C l = exists && m > Loops<C>::kNone ? std::exp(loops.sink(h) - m) : C(0);
  for (C& x : p) {
    x = x == Loops<C>::kNone ? C(0) : std::exp(x - m);
    l += x;
  }
  for (std::int64_t j = 0; j < loops.skv; ++j) {
    p[std::size_t(j)] = l > 0 ? p[std::size_t(j)] / l : C(0);
    result.weights.at(b, h, i, j) = T(p[std::size_t(j)]);
  }
  result.lse.at(b, h, i, 0) = T(l > 0 ? loops.lse(l, m, largest_dot) : Loops<C>::kNone);
  for (std::int64_t c = 0; c < dv; ++c) {
    C o = 0;
    for (std::int64_t j = 0; j < loops.skv; ++j)
      if (p[std::size_t(j)] > 0) o = std::fma(p[std::size_t(j)], C(in.v.at(b, kv, j, c)), o);
    result.out.at(b, h, i, c) = T(o);
  }
}

template <class C, class T>
LoopResult<T> run_loops(const Loops<C>& loops, const Inputs<T>& in) {
  const auto [batch, heads, sq, d] = in.q.shape();
  LoopResult<T> result{TestTensor<T>({batch, heads, sq, in.v.shape()[3]}),
                       TestTensor<T>({batch, heads, sq, 1}),
                       TestTensor<T>({batch, heads, sq, loops.skv})};
  for_each_index({batch, heads, sq, 1}, [&](auto b, auto h, auto i, auto) {
    run_row(loops, in, {b, h, i}, result);
  });
  return result;
}

}  // namespace regard::test

// Compiled once per ISA.
#include "prim/probe.h"

#include "prim/prim.h"

namespace regard::REGARD_ISA {
namespace {

template <class T, class F>
void each_vector(std::int64_t count, const F& f) {
  for (std::int64_t at = 0; at < count; at += Simd<T>::kLanes) f(at);
}

template <class T>
constexpr test::Probe<T> kProbe = {
    .exp2 =
        [](const T* x, T* y, std::int64_t count) {
          const FlushDenormals flush;
          each_vector<T>(count, [&](auto at) { store(y + at, exp2<T>(load(x + at))); });
        },
    .round =
        [](const T* x, T* y, std::int64_t count) {
          each_vector<T>(count, [&](auto at) { store(y + at, round_to_integer(load(x + at))); });
        },
    .times_power_of_two =
        [](const T* a, const T* n, T* y, std::int64_t count) {
          const FlushDenormals flush;
          each_vector<T>(count, [&](auto at) {
            store(y + at, times_power_of_two(load(a + at), load(n + at)));
          });
        },
    .fma =
        [](const T* a, const T* b, const T* c, T* y, std::int64_t count) {
          each_vector<T>(count, [&](auto at) {
            store(y + at, fma(load(a + at), load(b + at), load(c + at)));
          });
        },
    .fma_where =
        [](std::uint64_t lanes, const T* a, const T* b, const T* c, T* y, std::int64_t count) {
          each_vector<T>(count, [&](auto at) {
            const auto mask = lanes_of<T>(lanes >> at);
            store(y + at, fma_where(mask, load(a + at), load(b + at), load(c + at)));
          });
        },
    .maximum =
        [](const T* a, const T* b, T* y, std::int64_t count) {
          each_vector<T>(count,
                         [&](auto at) { store(y + at, maximum(load(a + at), load(b + at))); });
        },
    .minimum =
        [](const T* a, const T* b, T* y, std::int64_t count) {
          each_vector<T>(count,
                         [&](auto at) { store(y + at, minimum(load(a + at), load(b + at))); });
        },
    .magnitude =
        [](const T* x, T* y, std::int64_t count) {
          each_vector<T>(count, [&](auto at) { store(y + at, magnitude(load(x + at))); });
        },
    .tanh =
        [](const T* x, T* y, std::int64_t count) {
          const FlushDenormals flush;
          each_vector<T>(count, [&](auto at) { store(y + at, tanh<T>(load(x + at))); });
        },
    .transpose =
        [](const T* x, T* y) {
          constexpr int lanes = Simd<T>::kLanes;
          typename Simd<T>::Vector rows[lanes];
          for (int i = 0; i < lanes; ++i) rows[i] = load(x + i * lanes);
          transpose(rows);
          for (int i = 0; i < lanes; ++i) store(y + i * lanes, rows[i]);
        },
    .equal_lanes = [](const T* a, const T* b) { return equal_lanes(load(a), load(b)); },
    .lanes = Simd<T>::kLanes,
    .read =
        [](contract::Element type, const void* source, std::int64_t step, std::int64_t count,
           T* target) {
          const FlushDenormals flush;
          read_elements(type, source, step, count, target);
        },
    .write =
        [](contract::Element type, const T* source, std::int64_t source_step, std::int64_t count,
           void* target, std::int64_t step) {
          const FlushDenormals flush;
          write_elements(type, source, source_step, count, target, step);
        },
};

constexpr test::HalfProbe kF16 = {
    .widen =
        [](std::uint16_t x) {
          const FlushDenormals flush;
          return f16_to_f32(x);
        },
    .narrow =
        [](float x) {
          const FlushDenormals flush;
          return f32_to_f16(x);
        },
};
constexpr test::HalfProbe kBF16 = {
    .widen =
        [](std::uint16_t x) {
          const FlushDenormals flush;
          return bf16_to_f32(x);
        },
    .narrow =
        [](float x) {
          const FlushDenormals flush;
          return f32_to_bf16(x);
        },
};

}  // namespace

extern const test::Probes kProbes;
constinit const test::Probes kProbes = {kProbe<float>, kProbe<double>, log_positive,
                                        bytes_set,     kF16,           kBF16};

}  // namespace regard::REGARD_ISA

// Random requests for properties: sizes about the edges of tiles, any combination of outputs.
#pragma once

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "plan/planned.h"

namespace regard::test {

/// Uniform from the first case on: the sizes of interest are not only the small ones.
inline rc::Gen<std::int64_t> any_size(std::int64_t least, std::int64_t most) {
  return rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::int64_t>(least, most + 1));
}

inline const dispatch::Isa& any_isa() {
  return dispatch::isas()[std::size_t(*any_size(0, std::int64_t(dispatch::isas().size()) - 1))];
}

inline Request any_request(std::int64_t longest) {
  Request r;
  const auto length = rc::gen::oneOf(any_size(0, 3), any_size(0, longest));
  r.shape = {.batch = *any_size(0, 3),
             .kv_heads = *any_size(0, 3),
             .group = *rc::gen::element<std::int64_t>(1, 1, 2, 3, 8),
             .sq = *length,
             .skv = *length,
             .d = *any_size(1, 300),
             .dv = *any_size(1, 300)};
  r.dtype = *rc::gen::element(DType::f32, DType::f64, DType::f16, DType::bf16, DType::bf16);
  if (r.dtype == DType::bf16) {
    r.path = *rc::gen::element(Path::direct, Path::direct, Path::tiles);
    const bool free = r.path != Path::tiles;
    r.precision = free && *rc::gen::arbitrary<bool>() ? Precision::high : Precision::default_;
  }
  r.causal = *rc::gen::element(Causal::none, Causal::top_left, Causal::bottom_right);
  const auto offsets = *rc::gen::element<std::size_t>(0, 1, std::size_t(r.shape.batch));
  r.q_offset = *rc::gen::container<std::vector<std::int64_t>>(offsets, any_size(-60, 60));
  r.out = *rc::gen::arbitrary<bool>();
  r.lse = *rc::gen::arbitrary<bool>();
  r.weights = *rc::gen::arbitrary<bool>();
  if (r.shape.sq > 0) {
    const auto count = *rc::gen::element<std::size_t>(0, 0, 1, 7, 60);
    r.rows = *rc::gen::container<std::vector<std::int64_t>>(count, any_size(0, r.shape.sq - 1));
  }
  r.threads = *rc::gen::element(1, 2, 5, 64);
  r.call_threads = *rc::gen::element(0, 0, 1, 3);
  return r;
}

}  // namespace regard::test

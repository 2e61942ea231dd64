// Where the memory of a sequence, or batch entry, and head begins, as kernels take it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "contract/direct.h"
#include "plan/plan.h"
#include "problem/problem.h"
#include "problem/visible.h"

namespace regard::plan {

// The kernels' element types and stages are the caller's, number by number.
static_assert(int(contract::Element::i64) == int(DType::i64));
static_assert(int(contract::Stage::biased) == int(Stage::biased));

/// The sequence, or batch entry, and query head that a task starts at.
struct Place {
  std::int64_t b = 0;
  std::int64_t head = 0;
  std::int64_t kv_head = 0;
};

/// The head of a view from row `row` on; strides 0 where an absent view has none.
template <class Memory, class View>
Memory memory_of(const View& view, std::int64_t b, std::int64_t head, std::int64_t row) {
  if (!view.data) return {};
  using Byte =
      std::conditional_t<std::is_same_v<Memory, contract::Source>, const std::byte, std::byte>;
  const auto& stride = view.strides;
  const std::int64_t bytes = element_bytes(view.dtype);
  const std::int64_t at = b * stride[0] + head * stride[1] + row * stride[2];
  return {static_cast<Byte*>(view.data) + at * bytes,
          contract::Element(view.dtype),
          bytes,
          stride[1],
          stride[2],
          stride[3]};
}

/// Of a tensor whose rows are query rows (keys), packed or not.
template <class Memory, class View>
Memory rows_of(const problem::Problem& p, const View& view, const Place& place, std::int64_t head,
               std::span<const std::int64_t> starts) {
  if (p.packed()) return memory_of<Memory>(view, 0, head, starts[std::size_t(place.b)]);
  return memory_of<Memory>(view, place.b, head, 0);
}

inline contract::Score make_score(const problem::Problem& p, const Place& place) {
  return {.scale = p.scale,
          .softcap = p.softcap,
          .bias = memory_of<contract::Source>(p.bias, place.b, place.head, 0),
          .mask = memory_of<contract::Source>(p.mask, place.b, place.head, 0),
          .slopes = memory_of<contract::Source>(p.alibi_slopes, place.b, place.head, 0),
          .sinks = memory_of<contract::Source>(p.sinks, 0, place.head, 0),
          .position_offset = problem::position_offset(p, place.b),
          .general = has_general_scores(p)};
}

}  // namespace regard::plan

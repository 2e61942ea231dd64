// Query panels: a group's rows transposed to (D, rows), so that lanes are rows. The factor that
// turns dot products into base-2 exponents is folded in here.
#pragma once

#include <cstdint>

#include "contract/direct.h"
#include "kernels/rows.h"
#include "prim/prim.h"

namespace regard::REGARD_ISA {

/// Writes rows [first, first + count) times `factor` into lanes 0.. of panel (D, kWidth).
/// Lanes of rows that see nothing, and lanes past the rows, are 0: their sums stay harmless.
template <class T, int kWidth>
void pack_queries(const contract::DirectTask& task, std::int64_t first, int count,
                  const std::int32_t* lo, const std::int32_t* hi, T factor, T* panel) {
  for (int r = 0; r < kWidth; ++r) {
    const bool live = r < count && lo[r] < hi[r];
    if (!live) {
      for (std::int64_t d = 0; d < task.dims; ++d) panel[d * kWidth + r] = 0;
      continue;
    }
    const RowPlace place = row_place(task, first + r);
    const T* q = static_cast<const T*>(task.q) + place.head * task.q_head + place.i * task.q_row;
    for (std::int64_t d = 0; d < task.dims; ++d) {
      panel[d * kWidth + r] = q[d * task.q_dim] * factor;
    }
  }
}

}  // namespace regard::REGARD_ISA

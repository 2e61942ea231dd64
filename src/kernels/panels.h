// Panels: a group's query rows transposed to (D, rows), so that lanes are rows, and blocks of K and
// V converted from a half type. K and V of the loop's own type are read in place.
#pragma once

#include <cstdint>

#include "contract/direct.h"
#include "kernels/row_state.h"
#include "prim/prim.h"

namespace regard::REGARD_ISA {

inline constexpr int kChunk = 64;  // elements converted at a time

/// Writes the group's rows times `factor` into lanes 0.. of its panel (D, kWidth). Lanes of rows
/// that see nothing, and lanes past the rows, are 0: their sums stay harmless.
template <class T, int kWidth>
void pack_queries(const contract::DirectTask& task, const RowGroup<T, kWidth>& group, T factor) {
  T chunk[kChunk];
  for (int r = 0; r < kWidth; ++r) {
    if (!(group.live >> r & 1)) {
      for (std::int64_t d = 0; d < task.dims; ++d) group.queries[d * kWidth + r] = 0;
      continue;
    }
    const RowPlace place = row_place(task, group.first + r);
    for (std::int64_t d = 0; d < task.dims; d += kChunk) {
      const std::int64_t count = smaller(kChunk, task.dims - d);
      read_elements<T>(task.q.type, element_at(task.q, place.head, place.i, d), task.q.column,
                       count, chunk);
      for (std::int64_t n = 0; n < count; ++n) {
        group.queries[(d + n) * kWidth + r] = chunk[n] * factor;
      }
    }
  }
}

/// Rows of K or V of one block, in place or converted.
template <class T>
struct KeyRows {
  const T* first = nullptr;  ///< row of the block's first key
  std::int64_t row = 0;
  std::int64_t column = 0;
};

/// Reads K or V block by block. Only rows that some group sees are touched, and each is converted
/// once for all groups of the work item.
template <class T>
class KeyReader {
 public:
  KeyReader(const contract::Source& source, std::int64_t columns, T* panel)
      : source_(source),
        columns_(columns),
        panel_(panel),
        converts_(source.type == contract::Element::f16 || source.type == contract::Element::bf16) {
  }

  void enter(Keys block) {
    block_ = block;
    __builtin_memset(has_, 0, sizeof(has_));
  }

  KeyRows<T> read(const BlockView& view) {
    if (!converts_) {
      return {reinterpret_cast<const T*>(element_at(source_, 0, block_.begin, 0)), source_.row,
              source_.column};
    }
    for (int n = 0; n < view.run_count; ++n) {
      for (std::int64_t key = view.runs[n].begin; key < view.runs[n].end; ++key) {
        if (has_[key] || view.seen[key] == 0) continue;
        has_[key] = true;
        read_elements<T>(source_.type, element_at(source_, 0, block_.begin + key, 0),
                         source_.column, columns_, panel_ + key * columns_);
      }
    }
    return {panel_, columns_, 1};
  }

 private:
  contract::Source source_;
  std::int64_t columns_;
  T* panel_;
  bool converts_;
  Keys block_;
  bool has_[kBlockKeys];
};

}  // namespace regard::REGARD_ISA

// Requests for rows that are wanted soon, a few with every tile of a visit: the next block of K and
// V, the queries of the next row group, the rows of out. Asked for all at once they would fill the
// misses that a core may have in flight, and it would stall; not asked for, they are late where the
// last-level cache is far away (docs/benchmarking.md has figures).
#pragma once

#include <cstddef>
#include <cstdint>

#include "contract/direct.h"
#include "kernels/rows.h"
#include "kernels/visibility.h"

namespace regard::REGARD_ISA {

/// Of the next block of K and V: at D = 576 the 0.9 MB of one, beside as many in use, cost 3%.
inline constexpr std::int64_t kMostAheadBytes = 512 * 1024;

/// Rows of one tensor. Rows whose columns are not dense are left alone.
class RowsAhead {
 public:
  RowsAhead() = default;

  /// Rows [begin, end) of K or V, of `columns` numbers.
  RowsAhead(const contract::Source& keys, std::int64_t columns, Keys rows)
      : RowsAhead(nullptr, keys, columns, rows) {}

  /// Rows [begin, end) of the task's row space, of Q or out.
  template <class Memory>
  RowsAhead(const contract::DirectTask& task, const Memory& memory, std::int64_t columns, Keys rows)
      : RowsAhead(&task, memory, columns, rows) {}

  /// Spreads them over so many calls of `ask`.
  void spread(std::int64_t calls) {
    if (next_ < end_) step_ = (end_ - next_ + calls - 1) / calls;
  }

  void ask() {
    for (const auto end = smaller(next_ + step_, end_); next_ < end; ++next_) {
      const RowPlace place = task_ ? row_place(*task_, next_) : RowPlace{0, 0, next_};
      const auto* row = data_ + place.head * head_bytes_ + place.i * row_bytes_;
      for (std::int64_t at = 0; at < bytes_; at += 64) __builtin_prefetch(row + at, 0, 2);
    }
  }

 private:
  template <class Memory>
  RowsAhead(const contract::DirectTask* task, const Memory& memory, std::int64_t columns, Keys rows)
      : task_(task),
        data_(static_cast<const std::byte*>(memory.data)),
        head_bytes_(memory.head * memory.element_bytes),
        row_bytes_(memory.row * memory.element_bytes),
        bytes_(columns * memory.element_bytes),
        next_(rows.begin),
        end_(memory.data && memory.column == 1 ? larger(rows.begin, rows.end) : rows.begin) {}

  const contract::DirectTask* task_ = nullptr;  ///< null: rows are keys
  const std::byte* data_ = nullptr;
  std::int64_t head_bytes_ = 0;
  std::int64_t row_bytes_ = 0;
  std::int64_t bytes_ = 0;  ///< of one row, without what lies before the next
  std::int64_t next_ = 0;
  std::int64_t end_ = 0;
  std::int64_t step_ = 0;
};

/// What the tiles of one visit ask for.
struct Ahead {
  RowsAhead k, v, queries, out;

  void spread(std::int64_t tiles) {
    k.spread(tiles);
    v.spread(tiles);
    queries.spread(tiles);
    out.spread(tiles);
  }
  void ask() {
    k.ask();
    v.ask();
    queries.ask();
    out.ask();
  }
};

/// Part n of `parts` of a stretch of keys.
inline Keys part_of(Keys keys, std::int64_t n, std::int64_t parts) {
  const std::int64_t size = larger(keys.end - keys.begin, 0);
  return {keys.begin + size * n / parts, keys.begin + size * (n + 1) / parts};
}

}  // namespace regard::REGARD_ISA

// What the plan hands to the direct loop: one work item, and the facts of a compiled loop.
// Strides are in elements. Rows of all query heads that share a KV head form one row space:
// row r is query row r / group of head r % group.
#pragma once

#include <cstddef>
#include <cstdint>

namespace regard::contract {

/// Offsets of the parts of a worker's scratch, in bytes; every one a multiple of 64.
/// A worker holds one block of weights P and `groups` row groups; a row group holds the
/// transposed queries, the accumulators, then m, l and the key ranges of its rows.
struct DirectLayout {
  std::int64_t group_offset_bytes = 0;  ///< of row group 0 (P is at 0)
  std::int64_t group_bytes = 0;         ///< from one row group to the next
  std::int64_t out_offset_bytes = 0;    ///< of the accumulators in a row group
  std::int64_t state_offset_bytes = 0;  ///< of the row state in a row group
};

struct DirectTask {
  const void* q = nullptr;  ///< row 0 of the first head of the group
  const void* k = nullptr;
  const void* v = nullptr;
  void* out = nullptr;      ///< null: not wanted
  void* lse = nullptr;      ///< null: not wanted
  void* weights = nullptr;  ///< null: not wanted; row t of the task's row list

  std::int64_t q_head = 0, q_row = 0, q_dim = 0;
  std::int64_t k_row = 0, k_dim = 0;
  std::int64_t v_row = 0, v_dim = 0;
  std::int64_t out_head = 0, out_row = 0, out_dim = 0;
  std::int64_t lse_head = 0, lse_row = 0;
  std::int64_t weights_head = 0, weights_row = 0, weights_key = 0;

  std::int64_t keys = 0;        ///< Skv
  std::int64_t dims = 0;        ///< D
  std::int64_t value_dims = 0;  ///< Dv
  std::int64_t group = 1;
  double scale = 1;

  const std::int32_t* lo = nullptr;  ///< query row i sees keys [lo[i], hi[i])
  const std::int32_t* hi = nullptr;
  const std::int64_t* rows = nullptr;  ///< null: row list 0, 1, 2, ...; else query rows in order
  std::int64_t row_begin = 0, row_end = 0;  ///< of the row space (over the row list)

  std::byte* scratch = nullptr;  ///< 64-byte aligned
  DirectLayout layout;
};

/// One compiled loop: how it cuts the work, and its entry.
struct DirectKernel {
  void (*run)(const DirectTask&) noexcept = nullptr;
  std::int64_t rows_per_group = 0;
  std::int64_t keys_per_tile = 0;  ///< also value columns per tile
  std::int64_t keys_per_block = 0;
  std::int64_t element_bytes = 0;
  std::int64_t state_values_per_row = 0;  ///< elements of row state for each row
  std::int64_t most_groups = 0;           ///< row groups a work item may have
};

}  // namespace regard::contract

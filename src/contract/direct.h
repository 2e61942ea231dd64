// What the plan hands to the direct loop: one work item, and the facts of a compiled loop.
// Rows of all query heads that share a KV head form one row space: row r is query row r / group of
// head r % group.
#pragma once

#include <cstddef>
#include <cstdint>

#include "contract/element.h"

namespace regard::contract {

/// Memory to read: element (head of the group, row, column), strides in elements. Null: not given.
struct Source {
  const void* data = nullptr;
  Element type = Element::f32;
  std::int64_t element_bytes = 0;
  std::int64_t head = 0, row = 0, column = 0;
};

/// Memory to write. Null: not wanted.
struct Target {
  void* data = nullptr;
  Element type = Element::f32;
  std::int64_t element_bytes = 0;
  std::int64_t head = 0, row = 0, column = 0;
};

/// The order is that of regard::Stage.
enum class Stage : std::uint8_t { softmax, scaled, capped, biased };

/// What happens to the dot products on their way to weights.
struct Score {
  double scale = 1;
  double softcap = 0;                ///< 0: none
  Source bias;                       ///< (query row, key)
  Source mask;                       ///< (query row, key), bytes
  Source slopes;                     ///< ALiBi, one a head
  Source sinks;                      ///< one a head
  std::int64_t position_offset = 0;  ///< position of query row 0
  bool general = false;              ///< scores pass the hook, or pairs are hidden one by one
};

/// Offsets of the parts of a worker's scratch, in bytes; every one a multiple of 64.
/// A worker holds one block of weights P (at 0), the block's bias and, where K and V are converted,
/// their block; then its row groups. A row group holds the transposed queries, the accumulators,
/// the state of its rows and their top keys.
struct DirectLayout {
  std::int64_t bias_bytes = 0;        ///< offset of the bias of a block, (keys, rows)
  std::int64_t keys_bytes = 0;        ///< offset of the converted keys of a block
  std::int64_t values_bytes = 0;      ///< offset of the converted values of a block
  std::int64_t groups_bytes = 0;      ///< offset of row group 0, or of the masses
  std::int64_t group_size_bytes = 0;  ///< from one row group to the next
  std::int64_t out_bytes = 0;         ///< offset of the accumulators in a row group
  std::int64_t state_bytes = 0;       ///< offset of the row state in a row group
  std::int64_t top_bytes = 0;         ///< offset of the top weights in a row group, then their keys
};

struct DirectTask {
  Source q, k, v;  ///< of one type: that of the loop, or a half type
  Target out;
  Target lse;
  Target entropy;
  Target weights;  ///< row t is entry t of the task's row list
  Stage weights_stage = Stage::softmax;
  Target top_weights, top_keys;
  std::int64_t top_count = 0;
  Target kept;  ///< m, 1/l and the keys' share of every row (columns), for the key masses
  Target mass;  ///< (head, 0, key)

  std::int64_t keys = 0;        ///< Skv
  std::int64_t dims = 0;        ///< D
  std::int64_t value_dims = 0;  ///< Dv
  std::int64_t group = 1;
  Score score;

  const std::int32_t* lo = nullptr;  ///< query row i sees keys [lo[i], hi[i]); hi < 0: no such row
  const std::int32_t* hi = nullptr;
  const std::int64_t* rows = nullptr;  ///< null: row list 0, 1, 2, ...; else query rows in order
  std::int64_t row_begin = 0, row_end = 0;  ///< of the row space (over the row list)
  std::int64_t key_begin = 0, key_end = 0;  ///< of the key masses; whole blocks

  std::byte* scratch = nullptr;  ///< 64-byte aligned
  DirectLayout layout;
};

/// One compiled loop: how it cuts the work, and its entries.
struct DirectKernel {
  const char* unit = "";  ///< what multiplies, for people: fma, dot, tile
  bool emulated = false;  ///< right, but slower than the loop of f32
  void (*run)(const DirectTask&) noexcept = nullptr;       ///< rows: everything but key masses
  void (*run_mass)(const DirectTask&) noexcept = nullptr;  ///< masses of keys over all rows
  std::int64_t few_rows = 0;  ///< most rows that share a KV head for which decode is quicker
  std::int64_t rows_per_group = 0;
  std::int64_t rows_per_vector = 0;  ///< items, and groups within them, are cut at multiples of it
  std::int64_t keys_per_tile = 0;
  std::int64_t columns_per_tile = 0;  ///< of V
  std::int64_t keys_per_block = 0;
  std::int64_t element_bytes = 0;  ///< of scores, weights and accumulators
  std::int64_t operand_bytes = 0;  ///< of queries, and of K and V where they are not read in place
  std::int64_t depth = 1;          ///< columns of Q and K, and keys of V, that it takes together
  std::int64_t panel_keys = 0;     ///< rows for which panels of K and V have room
  bool copies_partial = false;  ///< of K, tiles that are not full, where others are read in place
  std::int64_t state_values_per_row = 0;  ///< elements of row state for each row
  std::int64_t most_groups = 0;           ///< row groups a work item may have
  std::int64_t item_bytes = 0;  ///< of L2, for an item's groups: they share a pass over K and V
};

}  // namespace regard::contract

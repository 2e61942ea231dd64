// What the plan hands to the decode loop: few query rows over rows of K and V that lie in pages, or
// one after another. The rows of a sequence's query heads that share a KV head form one row space,
// as in contract/direct.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "contract/direct.h"

namespace regard::contract {

/// How a row of K or V is stored. The order is that of regard::KvType; f64 is of plain calls alone.
enum class RowFormat : std::uint8_t {
  f32,
  f16,
  bf16,
  fp8_e4m3,
  fp8_e5m2,
  int8,
  int8_32,
  int4_32,
  q8_0,
  q4_0,
  f64
};

/// The rows of K or V of one KV head. Distances in bytes.
struct KeyRows {
  RowFormat format = RowFormat::f32;
  const std::byte* data = nullptr;
  std::int64_t page = 0, row = 0;
  std::int64_t column = 0;  ///< between neighbours of a row that is not dense
  bool dense = true;
  const std::byte* scales = nullptr;
  std::int64_t scale_page = 0, scale_row = 0;
};

/// One sequence and KV head.
struct DecodeSequence {
  Source q;
  Target out, lse;
  KeyRows k, v;
  const std::int32_t* pages = nullptr;  ///< null: one page holds all keys
  std::int64_t page_keys = 0;
  std::int64_t keys = 0;
  Score score;
  const std::int32_t* lo = nullptr;  ///< query row i sees keys [lo[i], hi[i]); hi < 0: no such row
  const std::int32_t* hi = nullptr;
  std::int64_t first = 0;               ///< keys below it are seen below hi, whatever lo
  const std::uint64_t* tree = nullptr;  ///< bit t of tree[i]: row i sees key tree_begin + t
  std::int64_t tree_begin = 0;
  std::int64_t rows = 0;     ///< of the row space
  void* partials = nullptr;  ///< of this sequence and KV head: (chunks, rows)
};

/// How memory is asked for rows that are needed soon: data of a CPU, on which no bit depends.
struct DecodeRequests {
  /// Every line of one query's rows, too; else one in four where the CPU's own streams follow.
  bool each_line = false;
};

/// Offsets of the parts of a worker's scratch, in bytes; every one a multiple of 64.
struct DecodeLayout {
  std::int64_t keys_bytes = 0;    ///< offset of copied rows of a block of keys
  std::int64_t scales_bytes = 0;  ///< offset of their scales
  std::int64_t passes_bytes = 0;  ///< offset of the state of the first pass
  std::int64_t pass_size_bytes = 0;
};

/// Keys [key_begin, key_end) of one chunk for rows of sequences that hold these keys in the same
/// memory. Each block's keys are read for all heads, then its values: so pages that
/// hold them one after another are read from end to end.
struct DecodeTask {
  const DecodeSequence* sequences = nullptr;  ///< of the first head
  std::int64_t heads = 1;                     ///< passes of all of them are at most most_passes
  std::int64_t head_step = 0;               ///< sequences from those of a head to those of the next
  std::int64_t row_begin = 0, row_end = 0;  ///< of the sequences' row spaces, one after another
  std::int64_t dims = 0, value_dims = 0, group = 1;
  std::int64_t key_begin = 0, key_end = 0;
  bool resumes = false;  ///< the chunk's partials hold its keys below key_begin
  std::byte* scratch = nullptr;
  DecodeLayout layout;
  DecodeRequests requests;
};

/// The rows of one sequence and KV head whose chunks are all done.
struct DecodeEnd {
  const DecodeSequence* sequence = nullptr;
  std::int64_t row_begin = 0, row_end = 0;
  std::int64_t dims = 0, value_dims = 0, group = 1;
};

/// One compiled loop.
struct DecodeKernel {
  const char* unit = "";  ///< what multiplies queries and keys, for people: fma, dot
  void (*run)(const DecodeTask&) noexcept = nullptr;
  void (*finish)(const DecodeEnd&) noexcept = nullptr;
  std::int64_t rows_per_pass = 0;
  std::int64_t most_passes = 0;  ///< of a task
  std::int64_t keys_per_block = 0;
  std::int64_t keys_per_chunk = 0;
  std::int64_t element_bytes = 0;
  std::int64_t columns_per_chunk = 0;  ///< rows of K and V are padded to a multiple of it
  std::int64_t partial_values = 0;     ///< elements of a partial beside its padded Dv
  std::int64_t pass_bytes = 0;         ///< of a pass's state beside its queries and outputs
};

}  // namespace regard::contract

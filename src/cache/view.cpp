#include "cache/view.h"

#include <string>
#include <utility>

#include "base/status_text.h"
#include "cache/state.h"

namespace regard {
namespace {

/// Numbers from 0 on; what leaves 64 bits becomes the largest.
std::int64_t times(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

}  // namespace

KvRows kv_rows_hnd(const void* data, KvType type, std::int64_t kv_heads, std::int64_t page_tokens,
                   std::int64_t head_size, const void* scales) noexcept {
  KvRows rows;
  rows.data = data;
  rows.type = type;
  rows.head_size = head_size;
  rows.scales = scales;
  rows.token_bytes = kv_row_bytes(type, head_size);
  rows.head_bytes = times(page_tokens, rows.token_bytes);
  rows.page_bytes = times(kv_heads, rows.head_bytes);
  rows.scale_token_bytes = kv_scale_bytes(type, head_size);
  rows.scale_head_bytes = times(page_tokens, rows.scale_token_bytes);
  rows.scale_page_bytes = times(kv_heads, rows.scale_head_bytes);
  return rows;
}

KvRows kv_rows_nhd(const void* data, KvType type, std::int64_t kv_heads, std::int64_t page_tokens,
                   std::int64_t head_size, const void* scales) noexcept {
  // Heads and tokens exchanged.
  KvRows rows = kv_rows_hnd(data, type, page_tokens, kv_heads, head_size, scales);
  std::swap(rows.head_bytes, rows.token_bytes);
  std::swap(rows.scale_head_bytes, rows.scale_token_bytes);
  return rows;
}

namespace cache {

Status not_created() {
  return base::invalid("cache: it has not been created");
}

Status view_of(const KvCacheState& state, std::span<const std::int64_t> sequences,
               OwnedView& owned) {
  OwnedView made;
  for (std::size_t n = 0; n < sequences.size(); ++n) {
    const Sequence* sequence = find(state, sequences[n]);
    if (!sequence) {
      return base::invalid("sequences[" + std::to_string(n) +
                           "]: " + not_living(state, sequences[n]));
    }
    made.page_tables.push_back(sequence->pages.data());
    made.lengths.push_back(sequence->length);
    if (state.options.window >= 0) {
      made.held_from.push_back(held_from(state.options, sequence->length));
    }
  }
  made.view.k = state.pool.k();
  made.view.v = state.pool.v();
  made.view.kv_heads = state.options.kv_heads;
  made.view.page_tokens = state.options.page_tokens;
  made.view.pages = state.options.pages;
  made.view.page_tables = made.page_tables;
  made.view.lengths = made.lengths;
  made.view.held_from = made.held_from;
  made.view.keep_first = state.options.keep_first;
  owned = std::move(made);
  return {};
}

Status view_of(const KvCache& cache, std::span<const std::int64_t> sequences, OwnedView& owned) {
  return cache.state() ? view_of(*cache.state(), sequences, owned) : not_created();
}

}  // namespace cache
}  // namespace regard

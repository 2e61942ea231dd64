#include "cache/read_tokens.h"

#include <algorithm>
#include <cstddef>

#include "cache/page_pool.h"
#include "cache/rows.h"

namespace regard::cache {
namespace {

bool dropped(const KvView& view, std::size_t n, std::int64_t token) {
  return !view.held_from.empty() && token >= view.keep_first && token < view.held_from[n];
}

/// Of one sequence; a head takes `longest` rows.
void read_sequence(const KvView& view, const KvRows& rows, std::size_t n, std::int64_t longest,
                   float* values) {
  for (std::int64_t token = 0; token < view.lengths[n]; ++token) {
    if (dropped(view, n, token)) continue;
    const std::int32_t page = view.page_tables[n][token / view.page_tokens];
    for (std::int64_t h = 0; h < view.kv_heads; ++h) {
      const RowAddress from = row_address(rows, page, h, token % view.page_tokens);
      read_row(rows.type, from.row, from.scales, rows.head_size,
               values + (h * longest + token) * rows.head_size);
    }
  }
}

}  // namespace

std::int64_t longest_length(const KvView& view) noexcept {
  std::int64_t longest = 0;
  for (const std::int64_t length : view.lengths) longest = std::max(longest, length);
  return longest;
}

std::vector<float> read_tokens(const KvView& view, const KvRows& rows) {
  const std::int64_t longest = longest_length(view);
  const std::int64_t sequence = view.kv_heads * longest * rows.head_size;
  std::vector<float> values(view.lengths.size() * std::size_t(sequence));
  for (std::size_t n = 0; n < view.lengths.size(); ++n) {
    read_sequence(view, rows, n, longest, values.data() + n * std::size_t(sequence));
  }
  return values;
}

}  // namespace regard::cache

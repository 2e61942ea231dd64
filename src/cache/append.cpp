// New tokens: which pages they need is counted before anything is touched, then pages are dropped,
// copied and taken, and rows written.
#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

#include "base/read.h"
#include "base/status_text.h"
#include "cache/rows.h"
#include "cache/state.h"
#include "problem/tensors.h"

namespace regard::cache {
namespace {

using std::to_string;

/// Pages by their place in a sequence's table; ends are exclusive. Those of [sinks, dropped) hold
/// no token that is kept.
struct PageRanges {
  std::int64_t sinks, dropped, end;

  bool kept(std::int64_t page) const noexcept { return page < sinks || page >= dropped; }
};

PageRanges page_ranges(const KvCacheOptions& options, std::int64_t length,
                       std::int64_t dropped_to) noexcept {
  const std::int64_t tokens = options.page_tokens;
  const std::int64_t sinks = (options.keep_first + tokens - 1) / tokens;
  return {sinks, std::max(sinks, dropped_to / tokens), (length + tokens - 1) / tokens};
}

/// What an append does to a sequence.
struct Change {
  std::int64_t length = 0, dropped_to = 0;  ///< afterwards
  PageRanges before, after;
  bool copies_last = false;  ///< the last page so far is shared and will be written
  std::int64_t pages = 0;    ///< to be taken from the pool
  std::int64_t freed = 0;    ///< that go back to it first
};

std::int64_t overlap(std::int64_t begin, std::int64_t end, std::int64_t from, std::int64_t to) {
  return std::max<std::int64_t>(std::min(end, to) - std::max(begin, from), 0);
}

bool kept(const KvCacheOptions& options, std::int64_t dropped_to, std::int64_t token) noexcept {
  return token < options.keep_first || token >= dropped_to;
}

Change change_of(const KvCacheState& state, const Sequence& sequence, std::int64_t tokens) {
  const KvCacheOptions& options = state.options;
  Change change;
  change.length = sequence.length + tokens;
  change.dropped_to = sequence.dropped_to;
  if (options.window >= 0) {
    const std::int64_t held = change.length - options.window - options.spare;
    change.dropped_to = std::max(change.dropped_to, held);
  }
  change.before = page_ranges(options, sequence.length, sequence.dropped_to);
  change.after = page_ranges(options, change.length, change.dropped_to);
  const auto [sinks, dropped, end] = change.after;
  const std::int64_t last = std::min(dropped, change.before.end);
  for (std::int64_t n = change.before.dropped; n < last; ++n) {
    change.freed += !state.pool.shared(sequence.pages[std::size_t(n)]);
  }
  change.pages =
      overlap(change.before.end, end, 0, sinks) + overlap(change.before.end, end, dropped, end);
  // Of the tokens that fall into the last page so far, the first is a kept one, or the last is.
  const std::int64_t page_end = change.before.end * options.page_tokens;
  if (tokens > 0 && sequence.length < page_end) {
    const std::int64_t written_to = std::min(page_end, change.length);
    change.copies_last = (kept(options, change.dropped_to, sequence.length) ||
                          kept(options, change.dropped_to, written_to - 1)) &&
                         state.pool.shared(sequence.pages.back());
    change.pages += change.copies_last;
  }
  return change;
}

void change_pages(KvCacheState& state, Sequence& sequence, const Change& change) noexcept {
  PagePool& pool = state.pool;
  const std::int64_t last = std::min(change.after.dropped, change.before.end);
  for (std::int64_t n = change.before.dropped; n < last; ++n) {
    pool.release(sequence.pages[std::size_t(n)]);
    sequence.pages[std::size_t(n)] = -1;
  }
  if (change.copies_last) {
    const std::int32_t shared = sequence.pages.back();
    sequence.pages.back() = pool.take();
    pool.copy(shared, sequence.pages.back(), sequence.length % state.options.page_tokens);
    pool.release(shared);
  }
  for (std::int64_t n = change.before.end; n < change.after.end; ++n) {
    sequence.pages.push_back(change.after.kept(n) ? pool.take() : -1);  // reserved
  }
}

/// The number that rows are read as: f32 holds all types but f64.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

constexpr float wide(float x) noexcept {
  return x;
}
constexpr double wide(double x) noexcept {
  return x;
}
template <class T>
constexpr float wide(T x) noexcept {
  return to_float(x);
}

/// Rows of the new tokens of K or V; `row` has room for one.
template <class T>
void write_rows(const KvCacheState& state, const Sequence& sequence, const KvRows& rows,
                const ConstTensor& from, Wide<T>* row) noexcept {
  const KvCacheOptions& options = state.options;
  const std::int64_t begin = sequence.length - from.shape[2];
  for (std::int64_t token = begin; token < sequence.length; ++token) {
    if (!kept(options, sequence.dropped_to, token)) continue;
    const std::int32_t page = sequence.pages[std::size_t(token / options.page_tokens)];
    for (std::int64_t h = 0; h < options.kv_heads; ++h) {
      const T* element = static_cast<const T*>(from.data) + h * from.strides[1] +
                         (token - begin) * from.strides[2];
      for (std::int64_t d = 0; d < rows.head_size; ++d) row[d] = wide(element[d * from.strides[3]]);
      const RowAddress to = row_address(rows, page, h, token % options.page_tokens);
      write_row(rows.type, row, rows.head_size, to.row, to.scales);
    }
  }
}

void write_rows(const KvCacheState& state, const Sequence& sequence, const KvRows& rows,
                const ConstTensor& from, std::byte* row) noexcept {
  base::with_float_type(from.dtype, [&]<class T>(const T*) {
    write_rows<T>(state, sequence, rows, from, reinterpret_cast<Wide<T>*>(row));
  });
}

Status check_tokens(const KvCacheOptions& options, const ConstTensor& k, const ConstTensor& v) {
  const std::int64_t tokens = k.shape[2];
  const Shape k_shape{1, options.kv_heads, tokens, options.k_head_size};
  const Shape v_shape{1, options.kv_heads, tokens, options.v_head_size};
  Status status = problem::check_result("k", k, k_shape);
  if (status.ok()) status = problem::check_result("v", v, v_shape);
  return status;
}

}  // namespace

Status append(KvCacheState& state, std::int64_t number, const ConstTensor& k,
              const ConstTensor& v) {
  Sequence* sequence = nullptr;
  Status status = find(state, number, sequence);
  if (status.ok()) status = check_tokens(state.options, k, v);
  if (!status.ok()) return status;
  const std::int64_t tokens = k.shape[2];
  if (tokens > kMostTokens - sequence->length) {
    return base::invalid("k: " + to_string(tokens) + " tokens behind " +
                         to_string(sequence->length) + " are more than " + to_string(kMostTokens));
  }
  const Change change = change_of(state, *sequence, tokens);
  const std::int64_t available = state.pool.free_pages() + change.freed;
  if (change.pages > available) {
    return {StatusCode::out_of_memory, "pages: " + to_string(change.pages) + " are needed for " +
                                           to_string(tokens) + " more tokens, but " +
                                           to_string(available) + " of " +
                                           to_string(state.options.pages) + " are free"};
  }
  const std::int64_t longest = std::max(state.options.k_head_size, state.options.v_head_size);
  std::vector<std::byte> row(std::size_t(longest) * sizeof(double));
  const auto entries = std::size_t(change.after.end);
  if (entries > sequence->pages.capacity()) {
    sequence->pages.reserve(std::max(entries, 2 * sequence->pages.capacity()));
  }
  change_pages(state, *sequence, change);
  sequence->length = change.length;
  sequence->dropped_to = change.dropped_to;
  write_rows(state, *sequence, state.pool.k(), k, row.data());
  write_rows(state, *sequence, state.pool.v(), v, row.data());
  return {};
}

}  // namespace regard::cache

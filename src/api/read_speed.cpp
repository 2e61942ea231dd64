#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "base/guard.h"
#include "base/status_text.h"
#include "cache/view.h"
#include "dispatch/dispatch.h"
#include "regard/machine.h"

namespace regard {
namespace {

/// Stretches of memory that lie in one KV head of one page.
struct Stretch {
  const std::byte* begin;
  std::int64_t bytes;
};

/// Appends those of items [begin, end), an item being a KV head of a page.
void add_stretches(const KvView& view, const KvRows& rows, std::int64_t begin, std::int64_t end,
                   std::vector<Stretch>& stretches) {
  const auto add = [&](const void* data, std::int64_t offset, std::int64_t bytes) {
    if (bytes > 0) stretches.push_back({static_cast<const std::byte*>(data) + offset, bytes});
  };
  for (std::int64_t item = begin; item < end; ++item) {
    const std::int64_t n = item / view.kv_heads, head = item % view.kv_heads;
    const std::int64_t page = view.page_tables[0][n];
    if (page < 0) continue;  // a ring has dropped it
    const std::int64_t tokens = std::min(view.page_tokens, view.lengths[0] - n * view.page_tokens);
    add(rows.data, page * rows.page_bytes + head * rows.head_bytes, tokens * rows.token_bytes);
    if (!rows.scales) continue;
    add(rows.scales, page * rows.scale_page_bytes + head * rows.scale_head_bytes,
        tokens * rows.scale_token_bytes);
  }
}

std::vector<Stretch> stretches_of(const KvView& view, const CacheRead& what) {
  const std::int64_t pages = (view.lengths[0] + view.page_tokens - 1) / view.page_tokens;
  const std::int64_t items = pages * view.kv_heads;
  const std::int64_t begin = items * what.part / what.parts;
  const std::int64_t end = items * (what.part + 1) / what.parts;
  std::vector<Stretch> stretches;
  add_stretches(view, view.k, begin, end, stretches);
  add_stretches(view, view.v, begin, end, stretches);
  return stretches;
}

}  // namespace

Status measure_read(const KvCache& cache, const CacheRead& what, double& seconds) noexcept {
  return base::guarded([&]() -> Status {
    const dispatch::Choice& choice = dispatch::chosen();
    if (!choice.status.ok()) return choice.status;
    if (what.part < 0 || what.part >= what.parts) {
      return base::invalid("part: " + std::to_string(what.part) + " is not in [0, " +
                           std::to_string(what.parts) + ")");
    }
    cache::OwnedView owned;
    Status status = cache::view_of(cache, {&what.sequence, 1}, owned);
    if (!status.ok()) return status;
    const std::vector<Stretch> stretches = stretches_of(owned.view, what);
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    for (const Stretch& stretch : stretches) {
      choice.isa->table->read->run(stretch.begin, stretch.bytes);
    }
    seconds = std::chrono::duration<double>(Clock::now() - start).count();
    return {};
  });
}

}  // namespace regard

// Sequences of a cache as decode reads them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "regard/kv_cache.h"

namespace regard::cache {

/// A view, and the arrays that its spans point at. It is good until the cache changes.
struct OwnedView {
  KvView view;
  std::vector<const std::int32_t*> page_tables;
  std::vector<std::int64_t> lengths, held_from;

  OwnedView() = default;
  OwnedView(OwnedView&&) = default;
  OwnedView& operator=(OwnedView&&) = default;
};

/// The sentence of every call on a cache that `create` has not made.
Status not_created();

/// Of these sequences, in this order; one may come more than once.
Status view_of(const KvCacheState& state, std::span<const std::int64_t> sequences,
               OwnedView& owned);
/// The same of a cache that may not have been created.
Status view_of(const KvCache& cache, std::span<const std::int64_t> sequences, OwnedView& owned);

}  // namespace regard::cache

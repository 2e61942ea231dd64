// Sequences over a pool of pages, and what may be done with them. Every function that fails has
// changed nothing: it looks first, takes the memory it may be refused next, and only then writes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cache/page_pool.h"
#include "regard/kv_cache.h"

namespace regard::cache {

/// Numbers of tokens, pages, heads and columns fit 32 bits in the kernels.
inline constexpr std::int64_t kMostTokens = 0x7fffffff;

struct Sequence {
  bool living = false;
  std::int64_t length = 0;
  /// Tokens [keep_first, dropped_to) are gone. It lies before what the window shows where a ring
  /// has spare tokens, and does not fall in a trim, unless to the first tokens alone.
  std::int64_t dropped_to = 0;
  /// Pages of tokens [0, length); -1 where no token of a page is kept.
  std::vector<std::int32_t> pages;
};

}  // namespace regard::cache

namespace regard {

struct KvCacheState {
  KvCacheOptions options;
  cache::PagePool pool;
  std::vector<cache::Sequence> sequences;
  std::vector<std::int64_t> unused;  ///< numbers of sequences that do not live
};

}  // namespace regard

namespace regard::cache {

Status create(const KvCacheOptions& options, std::unique_ptr<KvCacheState>& state);

/// Null where the number is not that of a living sequence.
const Sequence* find(const KvCacheState& state, std::int64_t number) noexcept;
/// "3 is none of the 2 that live"
std::string not_living(const KvCacheState& state, std::int64_t number);
/// The sequence, or a sentence about the argument `sequence`.
Status find(const KvCacheState& state, std::int64_t number, const Sequence*& sequence);
Status find(KvCacheState& state, std::int64_t number, Sequence*& sequence);

Status add(KvCacheState& state, std::int64_t& number);
Status remove(KvCacheState& state, std::int64_t number);
Status fork(KvCacheState& state, std::int64_t number, std::int64_t& copy);
Status append(KvCacheState& state, std::int64_t number, const ConstTensor& k, const ConstTensor& v);
Status trim(KvCacheState& state, std::int64_t number, std::int64_t length);
Status gather(const KvCacheState& state, std::int64_t number, std::int64_t begin, const Tensor& k,
              const Tensor& v);

/// The first token behind keep_first that the window of a sequence of this length holds.
std::int64_t held_from(const KvCacheOptions& options, std::int64_t length) noexcept;

}  // namespace regard::cache

// The C interface: caches of keys and values.
#include <memory>

#include "api/c_kv.h"

namespace regard::api {
namespace {

Status to_kv_options(const regard_kv_cache_options* from, KvCacheOptions& options) {
  regard_kv_cache_options given = {};
  Status status = load_struct(size_of<regard_kv_cache_options>("options"), from, &given);
  if (status.ok()) status = to_kv_type("k_type", given.k_type, options.k_type);
  if (status.ok()) status = to_kv_type("v_type", given.v_type, options.v_type);
  if (!status.ok()) return status;
  options.kv_heads = given.kv_heads;
  options.k_head_size = given.k_head_size;
  options.v_head_size = given.v_head_size;
  if (given.page_tokens != 0) options.page_tokens = given.page_tokens;
  options.pages = given.pages;
  if (given.window != 0) options.window = given.window;
  options.keep_first = given.keep_first;
  options.spare = given.spare;
  return {};
}

/// Calls `call` with the C++ cache.
template <class Cache, class Call>
regard_code with_cache(Cache* cache, regard_status* status, const Call& call) noexcept {
  return guarded_answer(status, [&]() -> Status {
    if (!cache) return null_pointer("cache");
    return call(cache->cache);
  });
}

}  // namespace
}  // namespace regard::api

using namespace regard::api;  // NOLINT(google-build-using-namespace)
using regard::KvCache;
using regard::Status;

regard_code regard_kv_cache_new(const regard_kv_cache_options* options, regard_kv_cache** cache,
                                regard_status* status) {
  return guarded_answer(status, [&] {
    if (!cache) return null_pointer("cache");
    regard::KvCacheOptions wanted;
    Status result = to_kv_options(options, wanted);
    if (!result.ok()) return result;
    auto created = std::make_unique<regard_kv_cache>();
    result = KvCache::create(wanted, created->cache);
    if (result.ok()) *cache = created.release();
    return result;
  });
}

void regard_kv_cache_free(regard_kv_cache* cache) {
  delete cache;
}

regard_code regard_kv_cache_add(regard_kv_cache* cache, int64_t* sequence, regard_status* status) {
  return with_cache(cache, status, [&](KvCache& to) {
    return sequence ? to.add(*sequence) : null_pointer("sequence");
  });
}

regard_code regard_kv_cache_fork(regard_kv_cache* cache, int64_t sequence, int64_t* copy,
                                 regard_status* status) {
  return with_cache(cache, status, [&](KvCache& to) {
    return copy ? to.fork(sequence, *copy) : null_pointer("copy");
  });
}

regard_code regard_kv_cache_remove(regard_kv_cache* cache, int64_t sequence,
                                   regard_status* status) {
  return with_cache(cache, status, [&](KvCache& to) { return to.remove(sequence); });
}

regard_code regard_kv_cache_append(regard_kv_cache* cache, int64_t sequence, const regard_tensor* k,
                                   const regard_tensor* v, regard_status* status) {
  return with_cache(cache, status, [&](KvCache& to) {
    if (!k) return null_pointer("k");
    if (!v) return null_pointer("v");
    return to.append(sequence, to_tensor(*k), to_tensor(*v));
  });
}

regard_code regard_kv_cache_trim(regard_kv_cache* cache, int64_t sequence, int64_t length,
                                 regard_status* status) {
  return with_cache(cache, status, [&](KvCache& to) { return to.trim(sequence, length); });
}

regard_code regard_kv_cache_gather(const regard_kv_cache* cache, int64_t sequence, int64_t begin,
                                   const regard_tensor* k, const regard_tensor* v,
                                   regard_status* status) {
  return with_cache(cache, status, [&](const KvCache& from) {
    return from.gather(sequence, begin, to_tensor(k), to_tensor(v));
  });
}

int64_t regard_kv_cache_length(const regard_kv_cache* cache, int64_t sequence) {
  return cache ? cache->cache.length(sequence) : -1;
}

int64_t regard_kv_cache_held_from(const regard_kv_cache* cache, int64_t sequence) {
  return cache ? cache->cache.held_from(sequence) : -1;
}

int64_t regard_kv_cache_free_pages(const regard_kv_cache* cache) {
  return cache ? cache->cache.free_pages() : 0;
}

int64_t regard_kv_cache_bytes_used(const regard_kv_cache* cache) {
  return cache ? cache->cache.bytes_used() : 0;
}

int64_t regard_kv_cache_bytes_reserved(const regard_kv_cache* cache) {
  return cache ? cache->cache.bytes_reserved() : 0;
}

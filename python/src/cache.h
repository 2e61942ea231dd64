// A KvCache that several Python threads may use: readers together, writers alone.
#pragma once

#include <nanobind/nanobind.h>

#include <mutex>
#include <shared_mutex>
#include <string>
#include <utility>

#include "regard/kv_cache.h"

namespace regard::python {

/// What the Python class KVCache holds. Its lock is only ever waited for without the GIL: a reader
/// inside may need the GIL to look for ctrl-C.
class Cache {
 public:
  explicit Cache(KvCache cache) noexcept : cache_(std::move(cache)) {}

  const KvCacheOptions& options() const noexcept { return cache_.options(); }

  /// The result of body(const KvCache&), while others may read too. For callers without the GIL.
  template <class Body>
  auto read_released(const Body& body) const {
    const std::shared_lock lock(mutex_);
    return body(cache_);
  }

  /// The same, for callers with the GIL; `body` has none.
  template <class Body>
  auto read(const Body& body) const {
    const nanobind::gil_scoped_release release;
    return read_released(body);
  }

  /// The result of body(KvCache&), while nobody else is at the cache.
  template <class Body>
  auto write(const Body& body) {
    const nanobind::gil_scoped_release release;
    const std::unique_lock lock(mutex_);
    return body(cache_);
  }

 private:
  KvCache cache_;
  mutable std::shared_mutex mutex_;
};

/// A type of rows by its name. Raises ValueError, naming the argument and all types.
KvType to_kv_type(const char* name, const std::string& text);

/// Adds the class KVCache, and the function decode, to the module.
void add_cache(nanobind::module_& module);
void add_decode(nanobind::module_& module);

}  // namespace regard::python

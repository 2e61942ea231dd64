// A KvCache that several Python threads may use: readers together, writers alone.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "call.h"
#include "method.h"
#include "raise.h"
#include "regard/kv_cache.h"

namespace regard::python {

/// What the Python class KVCache holds. Its lock is only ever waited for without the GIL: a reader
/// inside may need the GIL to look for ctrl-C. A signal handler that runs then may read the cache,
/// too; changing it raises RuntimeError.
class Cache {
 public:
  explicit Cache(KvCache cache) noexcept : cache_(std::move(cache)) {}

  const KvCacheOptions& options() const noexcept { return cache_.options(); }

  /// The result of body(const KvCache&), while others may read too. For callers without the GIL.
  template <class Body>
  auto read_released(const Body& body) const {
    if (read_here()) return body(cache_);
    const std::shared_lock lock(mutex_);
    const Reading reading{this, std::exchange(innermost, &reading)};
    return body(cache_);
  }

  /// The same, for callers with the GIL; `body` has none.
  template <class Body>
  auto read(const Body& body) const {
    const NoGil released;
    return read_released(body);
  }

  /// The result of body(KvCache&), while nobody else is at the cache.
  template <class Body>
  auto write(const Body& body) {
    if (read_here()) {
      raise(PyExc_RuntimeError,
            "cache: this thread is reading it, and a signal handler meanwhile "
            "may not change it");
    }
    const NoGil released;
    const std::unique_lock lock(mutex_);
    return body(cache_);
  }

 private:
  /// A cache that this thread is reading, for as long as that takes.
  struct Reading {
    const Cache* cache;
    const Reading* outer;
    ~Reading() { innermost = outer; }
  };
  static inline thread_local const Reading* innermost = nullptr;

  bool read_here() const noexcept {
    const Reading* reading = innermost;
    while (reading && reading->cache != this) reading = reading->outer;
    return reading != nullptr;
  }

  KvCache cache_;
  mutable std::shared_mutex mutex_;
};

/// What a number of a sequence is; ValueError where there is no such sequence.
std::int64_t known(const Cache& self, std::int64_t sequence,
                   std::int64_t (KvCache::*number)(std::int64_t) const noexcept);

/// A type of rows by its name. Raises ValueError or TypeError, naming the argument and all types.
KvType to_kv_type(const char* name, nb::handle value);

/// The method of that name.
nb::object gather(Cache& self, const MethodArguments& in);

/// Adds the class KVCache, and the function decode, to the module.
void add_cache(nanobind::module_& module);
void add_decode(nanobind::module_& module);

}  // namespace regard::python

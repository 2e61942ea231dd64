// Caches, views and lists of sequences of the C interface in terms of the C++ ones.
#pragma once

#include <span>

#include "api/c_types.h"
#include "regard/kv_cache.h"

namespace regard::api {

template <class T>
Status to_span(const char* name, const T* numbers, std::int64_t count, std::span<const T>& span) {
  Status status = check_array(name, numbers, count);
  if (status.ok()) span = {numbers, std::size_t(count)};
  return status;
}

/// A type that is none stays none.
KvType to_type(regard_kv_type type) noexcept;

/// Refuses what is none; `name` is the argument.
Status to_kv_type(const char* name, regard_kv_type from, KvType& type);

Status to_view(const regard_kv_view* from, KvView& view);

/// Refuses null, of the cache too.
Status check_sequences(const regard_kv_sequences* sequences);

}  // namespace regard::api

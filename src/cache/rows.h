// One row of K or V in memory, of any KvType: how numbers become stored elements, and what stored
// elements mean. read_row is the definition of dequantisation; kernels have to give its values.
#pragma once

#include <cstddef>
#include <cstdint>

#include "regard/kv_cache.h"

namespace regard::cache {

/// Stores `columns` numbers, a multiple of the type's block, as KvCache::append says. T is float or
/// double. `scales` is used by types whose scales lie apart.
template <class T>
void write_row(KvType type, const T* values, std::int64_t columns, std::byte* row,
               std::byte* scales) noexcept;

/// The stored numbers, exact in f32. A product of an int8 and a foreign scale that has more than 16
/// significant bits is rounded to nearest.
void read_row(KvType type, const std::byte* row, const std::byte* scales, std::int64_t columns,
              float* values) noexcept;

}  // namespace regard::cache

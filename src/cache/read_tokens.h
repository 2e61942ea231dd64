// Tokens of a view, whoever owns its memory, as plain numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "regard/kv_cache.h"

namespace regard::cache {

/// Rows of K or of V, `rows` being that member of `view`, as (sequences, kv_heads, longest length,
/// head_size), dense: the numbers that decode takes. 0 stands behind a sequence's end and for
/// tokens that have been dropped, whose memory is not read. The view is sound.
std::vector<float> read_tokens(const KvView& view, const KvRows& rows);

std::int64_t longest_length(const KvView& view) noexcept;

}  // namespace regard::cache

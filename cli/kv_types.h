// Types of K and V as flags name them.
#pragma once

#include <string>
#include <vector>

#include "regard/kv_report.h"

namespace regard::cli {

/// All types, as a flag's help lists them.
std::string list_kv_types();

/// What "int8,f16/q4_0" lists: one type of both, or that of K and that of V; an Error that names
/// `flag` for what is neither.
std::vector<KvTypes> parse_kv_types(const std::string& flag, const std::string& text);

/// As a flag names it: "int8" where K and V have one type, else "f16/q4_0".
std::string kv_types_text(const KvTypes& types);

/// Bytes of a token's row of K and its row of V, with their scales.
std::int64_t kv_token_bytes(const KvTypes& types, std::int64_t k_head_size,
                            std::int64_t v_head_size) noexcept;

}  // namespace regard::cli

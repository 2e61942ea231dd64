// Types of K and V as flags name them.
#pragma once

#include <string>

#include "regard/kv_cache.h"

namespace regard::cli {

/// "int8"; an Error that names `flag` for what is none.
KvType parse_kv_type(const std::string& flag, const std::string& text);

}  // namespace regard::cli

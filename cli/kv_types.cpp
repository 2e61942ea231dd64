#include "kv_types.h"

#include <fmt/format.h>

#include "command.h"
#include "flags.h"

namespace regard::cli {
namespace {

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (int type = 0; type <= int(KvType::q4_0); ++type) {
    all.emplace_back(kv_type_name(KvType(type)));
  }
  return all;
}

}  // namespace

std::string list_kv_types() {
  std::vector<std::string> all = names();
  const std::string last = all.back();
  all.pop_back();
  return fmt::format("{} or {}", fmt::join(all, ", "), last);
}

std::vector<KvTypes> parse_kv_types(const std::string& flag, const std::string& text) {
  std::vector<KvTypes> all;
  for (const std::string& pair : split(text, ',')) {
    const std::vector<std::string> parts = split(pair, '/');
    if (parts.size() > 2) {
      throw Error(fmt::format("{}: '{}' is {} types; give one, or that of K and that of V", flag,
                              pair, parts.size()));
    }
    all.push_back({KvType(parse_choice(flag, parts.front(), names())),
                   KvType(parse_choice(flag, parts.back(), names()))});
  }
  return all;
}

std::string kv_types_text(const KvTypes& types) {
  const std::string k = kv_type_name(types.k);
  return types.k == types.v ? k : k + "/" + kv_type_name(types.v);
}

std::int64_t kv_token_bytes(const KvTypes& types, std::int64_t k_head_size,
                            std::int64_t v_head_size) noexcept {
  return kv_row_bytes(types.k, k_head_size) + kv_scale_bytes(types.k, k_head_size) +
         kv_row_bytes(types.v, v_head_size) + kv_scale_bytes(types.v, v_head_size);
}

}  // namespace regard::cli

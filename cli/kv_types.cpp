#include "kv_types.h"

#include "flags.h"

namespace regard::cli {

KvType parse_kv_type(const std::string& flag, const std::string& text) {
  std::vector<std::string> names;
  for (int type = 0; type <= int(KvType::q4_0); ++type) {
    names.emplace_back(kv_type_name(KvType(type)));
  }
  return KvType(parse_choice(flag, text, names));
}

}  // namespace regard::cli

// What a cache may be.
#include <string>

#include "base/status_text.h"
#include "cache/state.h"

namespace regard::cache {
namespace {

using base::invalid;
using std::to_string;

Status check_range(const char* name, std::int64_t value, std::int64_t lowest) {
  if (value >= lowest && value <= kMostTokens) return {};
  return invalid(std::string(name) + ": " + to_string(value) + " is not in [" + to_string(lowest) +
                 ", " + to_string(kMostTokens) + "]");
}

Status check_rows(const std::string& name, KvType type, std::int64_t head_size) {
  if (type > KvType::q4_0) {
    return invalid(name + "_type: " + to_string(int(type)) + " is not in 0 to " +
                   to_string(int(KvType::q4_0)));
  }
  const std::string size = name + "_head_size";
  if (Status status = check_range(size.c_str(), head_size, 1); !status.ok()) return status;
  if (head_size % kv_block(type) == 0) return {};
  return invalid(size + ": " + to_string(head_size) + " is not a multiple of " +
                 to_string(kv_block(type)) + ", the block of " + kv_type_name(type));
}

Status check_ring(const KvCacheOptions& options) {
  if (options.window != -1) {
    if (options.window < 1 || options.window > kMostTokens) {
      return invalid("window: " + to_string(options.window) + " is neither -1 (all) nor in [1, " +
                     to_string(kMostTokens) + "]");
    }
  } else if (options.spare != 0) {
    return invalid("spare: " + to_string(options.spare) +
                   " tokens are given, but window is -1 (all are kept)");
  }
  Status status = check_range("keep_first", options.keep_first, 0);
  if (status.ok()) status = check_range("spare", options.spare, 0);
  return status;
}

Status check_options(const KvCacheOptions& options) {
  Status status = check_rows("k", options.k_type, options.k_head_size);
  if (status.ok()) status = check_rows("v", options.v_type, options.v_head_size);
  if (status.ok()) status = check_range("kv_heads", options.kv_heads, 1);
  if (status.ok()) status = check_range("page_tokens", options.page_tokens, 16);
  if (status.ok() && options.page_tokens % 16 != 0) {
    status = invalid("page_tokens: " + to_string(options.page_tokens) + " is not a multiple of 16");
  }
  if (status.ok()) status = check_range("pages", options.pages, 1);
  if (status.ok()) status = check_ring(options);
  if (status.ok() && pool_bytes(options) < 0) {
    status = invalid("pages: " + to_string(options.pages) + " of " +
                     to_string(options.page_tokens) + " tokens of " + to_string(options.kv_heads) +
                     " heads take more than " + to_string(kMostBytes) + " bytes");
  }
  return status;
}

}  // namespace

Status create(const KvCacheOptions& options, std::unique_ptr<KvCacheState>& state) {
  if (Status status = check_options(options); !status.ok()) return status;
  auto created = std::make_unique<KvCacheState>();
  created->options = options;
  if (!created->pool.reserve(options)) {
    return {StatusCode::out_of_memory, "pages: " + to_string(options.pages) + " of them take " +
                                           to_string(pool_bytes(options)) +
                                           " bytes, which the system refuses"};
  }
  state = std::move(created);
  return {};
}

}  // namespace regard::cache

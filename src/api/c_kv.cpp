#include "api/c_kv.h"

#include <string>

namespace regard::api {
namespace {

constexpr bool same_numbers() {
  return REGARD_KV_F32 == int(KvType::f32) && REGARD_KV_F16 == int(KvType::f16) &&
         REGARD_KV_BF16 == int(KvType::bf16) && REGARD_KV_FP8_E4M3 == int(KvType::fp8_e4m3) &&
         REGARD_KV_FP8_E5M2 == int(KvType::fp8_e5m2) && REGARD_KV_INT8 == int(KvType::int8) &&
         REGARD_KV_INT8_32 == int(KvType::int8_32) && REGARD_KV_INT4_32 == int(KvType::int4_32) &&
         REGARD_KV_Q8_0 == int(KvType::q8_0) && REGARD_KV_Q4_0 == int(KvType::q4_0);
}
static_assert(same_numbers(), "regard.h numbers the types as kv_cache.h does");

KvRows to_kv_rows(const regard_kv_rows& from) noexcept {
  return {.data = from.data,
          .type = to_type(from.type),
          .head_size = from.head_size,
          .page_bytes = from.page_bytes,
          .head_bytes = from.head_bytes,
          .token_bytes = from.token_bytes,
          .scales = from.scales,
          .scale_page_bytes = from.scale_page_bytes,
          .scale_head_bytes = from.scale_head_bytes,
          .scale_token_bytes = from.scale_token_bytes};
}

}  // namespace

KvType to_type(regard_kv_type type) noexcept {
  return KvType(type >= REGARD_KV_F32 && type <= REGARD_KV_Q4_0 ? type : 255);
}

Status to_kv_type(const char* name, regard_kv_type from, KvType& type) {
  if (from < REGARD_KV_F32 || from > REGARD_KV_Q4_0) {
    return base::invalid(std::string(name) + ": " + std::to_string(from) + " is not in 0 to " +
                         std::to_string(REGARD_KV_Q4_0));
  }
  type = KvType(from);
  return {};
}

Status to_view(const regard_kv_view* from, KvView& view) {
  regard_kv_view given = {};
  Status status = load_struct(size_of<regard_kv_view>("view"), from, &given);
  if (!status.ok()) return status;
  view.k = to_kv_rows(given.k);
  view.v = to_kv_rows(given.v);
  view.kv_heads = given.kv_heads;
  view.page_tokens = given.page_tokens;
  view.pages = given.pages;
  view.keep_first = given.keep_first;
  status = to_span("page_tables", given.page_tables, given.count, view.page_tables);
  if (status.ok()) status = to_span("lengths", given.lengths, given.count, view.lengths);
  if (status.ok() && given.held_from) {
    status = to_span("held_from", given.held_from, given.count, view.held_from);
  }
  return status;
}

Status check_sequences(const regard_kv_sequences* sequences) {
  if (!sequences) return null_pointer("sequences");
  return sequences->cache ? Status() : null_pointer("sequences.cache");
}

}  // namespace regard::api

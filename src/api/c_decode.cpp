// The C interface: decode over a cache and over a view.
#include <span>

#include "api/c_kv.h"
#include "regard/decode.h"

namespace regard::api {
namespace {

Status to_rows(const regard_decode_rows* from, DecodeRows& rows) {
  if (!from) return {};
  Status status = to_span("starts", from->starts, from->start_count, rows.starts);
  if (status.ok()) status = to_span("parents", from->parents, from->parent_count, rows.parents);
  return status;
}

regard_kv_rows from_kv_rows(const KvRows& from, regard_kv_type type) noexcept {
  return {.data = from.data,
          .type = type,
          .head_size = from.head_size,
          .page_bytes = from.page_bytes,
          .head_bytes = from.head_bytes,
          .token_bytes = from.token_bytes,
          .scales = from.scales,
          .scale_page_bytes = from.scale_page_bytes,
          .scale_head_bytes = from.scale_head_bytes,
          .scale_token_bytes = from.scale_token_bytes};
}

/// What both calls share, translated.
struct Call {
  ConstTensor q;
  DecodeRows rows;
  Outputs outputs;
  Options none;
  const Options* options = &none;
};

Status to_call(const regard_tensor* q, const regard_decode_rows* rows,
               const regard_outputs* outputs, const regard_options* options, Call& call) {
  if (!q) return null_pointer("q");
  call.q = to_tensor(*q);
  Status status = to_rows(rows, call.rows);
  if (status.ok()) status = to_outputs(outputs, call.outputs);
  if (status.ok()) status = to_options(options, call.options);
  return status;
}

}  // namespace
}  // namespace regard::api

using namespace regard::api;  // NOLINT(google-build-using-namespace)
using regard::Status;

regard_kv_rows regard_kv_rows_hnd(const void* data, regard_kv_type type, int64_t kv_heads,
                                  int64_t page_tokens, int64_t head_size, const void* scales) {
  return from_kv_rows(
      regard::kv_rows_hnd(data, to_type(type), kv_heads, page_tokens, head_size, scales), type);
}

regard_kv_rows regard_kv_rows_nhd(const void* data, regard_kv_type type, int64_t kv_heads,
                                  int64_t page_tokens, int64_t head_size, const void* scales) {
  return from_kv_rows(
      regard::kv_rows_nhd(data, to_type(type), kv_heads, page_tokens, head_size, scales), type);
}

regard_code regard_decode(const regard_context* context, const regard_tensor* q,
                          const regard_kv_sequences* sequences, const regard_decode_rows* rows,
                          const regard_outputs* outputs, const regard_options* options,
                          regard_status* status) {
  return guarded_answer(status, [&] {
    if (!context) return null_pointer("context");
    Call call;
    std::span<const std::int64_t> numbers;
    Status bad = check_sequences(sequences);
    if (bad.ok()) bad = to_call(q, rows, outputs, options, call);
    if (bad.ok()) bad = to_span("sequences", sequences->numbers, sequences->count, numbers);
    if (!bad.ok()) return bad;
    return regard::decode(context->context, call.q, sequences->cache->cache, numbers, call.rows,
                          call.outputs, *call.options);
  });
}

regard_code regard_decode_view(const regard_context* context, const regard_tensor* q,
                               const regard_kv_view* view, const regard_decode_rows* rows,
                               const regard_outputs* outputs, const regard_options* options,
                               regard_status* status) {
  return guarded_answer(status, [&] {
    if (!context) return null_pointer("context");
    Call call;
    regard::KvView cached;
    Status bad = to_call(q, rows, outputs, options, call);
    if (bad.ok()) bad = to_view(view, cached);
    if (!bad.ok()) return bad;
    return regard::decode(context->context, call.q, cached, call.rows, call.outputs, *call.options);
  });
}

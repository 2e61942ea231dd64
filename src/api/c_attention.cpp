// The C interface: contexts, forward and explain.
#include <new>

#include "api/c_types.h"
#include "regard/version.h"

namespace regard::api {
namespace {

const Options& default_options() {
  static const Options options;
  return options;
}

/// The arguments that every call shares, translated.
struct Call {
  ConstTensor q, k, v;
  Outputs outputs;
  const Options* options = &default_options();
};

Status to_call(const regard_context* context, const regard_inputs* inputs,
               const regard_outputs* outputs, const regard_options* options, Call& call) {
  if (!context) return null_pointer("context");
  if (Status status = check_inputs(inputs); !status.ok()) return status;
  call.q = to_tensor(inputs->q);
  call.k = to_tensor(inputs->k);
  call.v = to_tensor(inputs->v);
  if (Status status = to_outputs(outputs, call.outputs); !status.ok()) return status;
  return to_options(options, call.options);
}

Status to_sequences(const regard_sequences* from, Sequences& sequences) {
  if (!from) return null_pointer("sequences");
  if (from->count < 0) {
    return base::invalid("sequences: the count is " + std::to_string(from->count) + ", below 0");
  }
  if (!from->q) return null_pointer("sequences.q");
  if (!from->kv) return null_pointer("sequences.kv");
  const auto starts = std::size_t(from->count) + 1;
  sequences = {{from->q, starts}, {from->kv, starts}};
  return {};
}

Status check_explanation(const regard_explanation* explanation) {
  return check_struct(size_of<regard_explanation>("explanation"), explanation);
}

void store(const Explanation& from, regard_explanation* explanation) {
  const std::string text = to_text(from);
  copy_text(text, explanation->text, explanation->text_bytes);
  regard_explanation to = {
      .struct_size = explanation->struct_size,
      .text = explanation->text,
      .text_bytes = explanation->text_bytes,
      .text_length = text.size(),
      .isa = {},
      .path = regard_path(from.path),
      .threads = from.threads,
      .rows_per_tile = from.rows_per_tile,
      .keys_per_tile = from.keys_per_tile,
      .keys_per_block = from.keys_per_block,
      .rows_per_item = from.rows_per_item,
      .main_items = from.main_items,
      .weights_items = from.weights_items,
      .mass_items = from.mass_items,
      .tiles_visited = from.tiles_visited,
      .tiles_total = from.tiles_total,
      .scratch_bytes = from.scratch_bytes,
      .passes = from.passes,
      .unit = {},
  };
  copy_text(from.isa, to.isa, sizeof to.isa);
  copy_text(from.unit, to.unit, sizeof to.unit);
  store_struct(size_of<regard_explanation>("explanation"), &to, explanation);
}

}  // namespace
}  // namespace regard::api

using namespace regard::api;  // NOLINT(google-build-using-namespace)
using regard::Status;

const char* regard_version(void) {
  return regard::kVersion;
}

const char* regard_code_name(regard_code code) {
  constexpr const char* names[] = {"ok",        "invalid_argument", "unsupported", "out_of_memory",
                                   "cancelled", "io_error",         "internal"};
  return code >= REGARD_OK && code <= REGARD_INTERNAL ? names[code] : "unknown";
}

regard_context* regard_context_new(int threads) {
  return regard_context_new_with(nullptr, nullptr, threads);
}

regard_context* regard_context_new_with(regard_run run, void* user, int threads) {
  auto* context = run ? new (std::nothrow) regard_context{regard::Context({run, user, threads})}
                      : new (std::nothrow) regard_context{regard::Context(threads)};
  if (context && context->context.state()) return context;
  delete context;
  return nullptr;
}

void regard_context_free(regard_context* context) {
  delete context;
}

int regard_context_threads(const regard_context* context) {
  return context ? context->context.threads() : 0;
}

regard_code regard_forward(const regard_context* context, const regard_inputs* inputs,
                           const regard_outputs* outputs, const regard_options* options,
                           regard_status* status) {
  return guarded_answer(status, [&] {
    Call call;
    if (Status bad = to_call(context, inputs, outputs, options, call); !bad.ok()) return bad;
    return regard::forward(context->context, call.q, call.k, call.v, call.outputs, *call.options);
  });
}

regard_code regard_forward_varlen(const regard_context* context, const regard_inputs* inputs,
                                  const regard_sequences* sequences, const regard_outputs* outputs,
                                  const regard_options* options, regard_status* status) {
  return guarded_answer(status, [&] {
    Call call;
    regard::Sequences packed;
    if (Status bad = to_call(context, inputs, outputs, options, call); !bad.ok()) return bad;
    if (Status bad = to_sequences(sequences, packed); !bad.ok()) return bad;
    return regard::forward_varlen(context->context, call.q, call.k, call.v, packed, call.outputs,
                                  *call.options);
  });
}

regard_code regard_explain(const regard_context* context, const regard_inputs* inputs,
                           const regard_outputs* outputs, const regard_options* options,
                           regard_explanation* explanation, regard_status* status) {
  return guarded_answer(status, [&] {
    Call call;
    regard::Explanation found;
    Status result = to_call(context, inputs, outputs, options, call);
    if (result.ok()) result = check_explanation(explanation);
    if (!result.ok()) return result;
    result = regard::explain(context->context, call.q, call.k, call.v, call.outputs, *call.options,
                             found);
    if (result.ok()) store(found, explanation);
    return result;
  });
}

regard_code regard_explain_varlen(const regard_context* context, const regard_inputs* inputs,
                                  const regard_sequences* sequences, const regard_outputs* outputs,
                                  const regard_options* options, regard_explanation* explanation,
                                  regard_status* status) {
  return guarded_answer(status, [&] {
    Call call;
    regard::Sequences packed;
    regard::Explanation found;
    Status result = to_call(context, inputs, outputs, options, call);
    if (result.ok()) result = to_sequences(sequences, packed);
    if (result.ok()) result = check_explanation(explanation);
    if (!result.ok()) return result;
    result = regard::explain_varlen(context->context, call.q, call.k, call.v, packed, call.outputs,
                                    *call.options, found);
    if (result.ok()) store(found, explanation);
    return result;
  });
}

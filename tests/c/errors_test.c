/* What is refused, in which words, with outputs untouched and no status needed. */
#include <string.h>

#include "attention.h"
#include "support.h"

static Data inputs;
static Answer got;
static regard_context* context;

static regard_outputs all_outputs(void) {
  regard_outputs outputs = {.struct_size = sizeof outputs};
  outputs.out = out_view(&got);
  outputs.lse = lse_view(&got);
  outputs.weights = weights_view(&got);
  return outputs;
}

/* A forward call is refused as invalid with this sentence, and explained no better. */
static void refused(const regard_inputs* in, const regard_outputs* outputs,
                    const regard_options* options, const char* sentence) {
  regard_status status;
  regard_explanation found = {.struct_size = sizeof found, .threads = 77};
  memset(&status, 77, sizeof status);
  REGARD_CHECK(regard_forward(context, in, outputs, options, NULL) == REGARD_INVALID_ARGUMENT);
  regard_forward(context, in, outputs, options, &status);
  check_refused(&status, REGARD_INVALID_ARGUMENT, sentence);
  regard_explain(context, in, outputs, options, &found, &status);
  check_refused(&status, REGARD_INVALID_ARGUMENT, sentence);
  REGARD_CHECK(found.threads == 77);
  REGARD_CHECK(untouched(&got));
}

static void null_pointers(void) {
  const regard_inputs in = views(&inputs);
  const regard_outputs outputs = all_outputs();
  const int64_t starts[] = {0, 5};
  regard_sequences sequences = {.count = 1, .q = starts, .kv = NULL};
  regard_check_report report = {.struct_size = sizeof report};
  regard_status status;
  refused(NULL, &outputs, NULL, "inputs: the pointer is null");
  refused(&in, NULL, NULL, "outputs: the pointer is null");
  regard_forward(NULL, &in, &outputs, NULL, &status);
  check_refused(&status, REGARD_INVALID_ARGUMENT, "context: the pointer is null");
  regard_explain(context, &in, &outputs, NULL, NULL, &status);
  check_refused(&status, REGARD_INVALID_ARGUMENT, "explanation: the pointer is null");
  regard_forward_varlen(context, &in, NULL, &outputs, NULL, &status);
  check_refused(&status, REGARD_INVALID_ARGUMENT, "sequences: the pointer is null");
  regard_forward_varlen(context, &in, &sequences, &outputs, NULL, &status);
  check_refused(&status, REGARD_INVALID_ARGUMENT, "sequences.kv: the pointer is null");
  sequences.q = NULL;
  regard_forward_varlen(context, &in, &sequences, &outputs, NULL, &status);
  check_refused(&status, REGARD_INVALID_ARGUMENT, "sequences.q: the pointer is null");
  sequences.count = -1;
  regard_explain_varlen(context, &in, &sequences, &outputs, NULL, NULL, &status);
  check_refused(&status, REGARD_INVALID_ARGUMENT, "sequences: the count is -1, below 0");
  regard_check(NULL, NULL, &outputs.out, NULL, NULL, &report, &status);
  check_refused(&status, REGARD_INVALID_ARGUMENT, "inputs: the pointer is null");
  regard_check(&in, NULL, NULL, NULL, NULL, &report, &status);
  check_refused(&status, REGARD_INVALID_ARGUMENT, "out: the pointer is null");
  regard_check(&in, NULL, &outputs.out, NULL, NULL, NULL, &status);
  check_refused(&status, REGARD_INVALID_ARGUMENT, "report: the pointer is null");
  REGARD_CHECK(untouched(&got));
}

static void tensors(void) {
  regard_inputs in = views(&inputs);
  regard_outputs outputs = all_outputs();
  in.k.shape[3] = 5;
  refused(&in, &outputs, NULL, "k: head size 5 differs from q's 6");
  in = views(&inputs);
  outputs.lse.shape[2] = 4;
  refused(&in, &outputs, NULL, "lse: shape (2, 4, 4, 1) differs from (2, 4, 5, 1)");
  outputs = all_outputs();
  in.v.data = NULL;
  regard_status status;
  regard_forward(context, &in, &outputs, NULL, &status);
  check_refused(&status, REGARD_INVALID_ARGUMENT, "v: data is null but its shape is (2, 2, 7, 3)");
  REGARD_CHECK(untouched(&got));
}

/* A number that wraps to a type when cut to a byte is still none. */
static void types(void) {
  const regard_dtype wrong[] = {-1, 6, 256};
  for (size_t n = 0; n < sizeof wrong / sizeof *wrong; ++n) {
    regard_inputs in = views(&inputs);
    const regard_outputs outputs = all_outputs();
    regard_status status;
    in.q.dtype = in.k.dtype = in.v.dtype = wrong[n];
    REGARD_CHECK(regard_forward(context, &in, &outputs, NULL, &status) == REGARD_INVALID_ARGUMENT);
    REGARD_CHECK(strstr(status.message, "dtype unknown") != NULL);
  }
}

static void struct_sizes(void) {
  const regard_inputs in = views(&inputs);
  struct {
    regard_outputs known;
    char later[16];
  } outputs;
  memset(&outputs, 0, sizeof outputs);
  outputs.known = all_outputs();
  outputs.known.struct_size = 0;
  refused(&in, &outputs.known, NULL,
          "outputs: struct_size is 0, it must be sizeof of the struct, at least 568");
  outputs.known.struct_size = 1000000;
  refused(&in, &outputs.known, NULL,
          "outputs: struct_size is 1000000, it must be sizeof of the struct, at least 568");

  /* A caller of a later version, who uses nothing of it, and one who does. */
  regard_status status;
  outputs.known.struct_size = sizeof outputs;
  REGARD_CHECK_OK(regard_forward(context, &in, &outputs.known, NULL, &status), status);
  spoil(&got);
  outputs.later[3] = 1;
  regard_forward(context, &in, &outputs.known, NULL, &status);
  check_refused(&status, REGARD_UNSUPPORTED,
                "outputs: struct_size is 584, and beyond the 568 bytes that this version knows not "
                "all is 0");
  REGARD_CHECK(untouched(&got));

  regard_explanation found = {.struct_size = sizeof found - 1};
  outputs.known.struct_size = sizeof outputs.known;
  regard_explain(context, &in, &outputs.known, NULL, &found, &status);
  REGARD_CHECK(status.code == REGARD_INVALID_ARGUMENT);
}

/* A setter that fails says so, and so does every call with its options until they are cleared. */
static void setters(void) {
  const regard_inputs in = views(&inputs);
  const regard_outputs outputs = all_outputs();
  const int64_t numbers[] = {0, 1};
  regard_options* options = regard_options_new();
  REGARD_CHECK(regard_options_set_scale(NULL, 1) == REGARD_INVALID_ARGUMENT);
  REGARD_CHECK(regard_options_clear(NULL) == REGARD_INVALID_ARGUMENT);

  REGARD_CHECK(regard_options_set_causal(options, 3) == REGARD_INVALID_ARGUMENT);
  REGARD_CHECK(regard_options_set_path(options, -1) == REGARD_INVALID_ARGUMENT);
  refused(&in, &outputs, options, "causal: 3 is not in 0 to 2");
  regard_options_clear(options);
  REGARD_CHECK(regard_options_set_path(options, 256) == REGARD_INVALID_ARGUMENT);
  refused(&in, &outputs, options, "path: 256 is not in 0 to 3");
  regard_options_clear(options);
  REGARD_CHECK(regard_options_set_precision(options, 2) == REGARD_INVALID_ARGUMENT);
  refused(&in, &outputs, options, "precision: 2 is not in 0 to 1");
  regard_options_clear(options);
  REGARD_CHECK(regard_options_set_weights_stage(options, 4) == REGARD_INVALID_ARGUMENT);
  refused(&in, &outputs, options, "weights_stage: 4 is not in 0 to 3");
  regard_options_clear(options);
  REGARD_CHECK(regard_options_set_rows(options, NULL, 2) == REGARD_INVALID_ARGUMENT);
  refused(&in, &outputs, options, "rows: the pointer is null but the count is 2");
  regard_options_clear(options);
  REGARD_CHECK(regard_options_set_q_len(options, numbers, -2) == REGARD_INVALID_ARGUMENT);
  refused(&in, &outputs, options, "q_len: the count is -2, below 0");
  regard_options_clear(options);
  REGARD_CHECK(regard_options_set_scratch(options, NULL, 64) == REGARD_INVALID_ARGUMENT);
  refused(&in, &outputs, options, "scratch: the pointer is null but its size is 64");

  /* What a setter keeps, the call judges. */
  regard_options_clear(options);
  REGARD_CHECK(regard_options_set_threads(options, -1) == REGARD_OK);
  refused(&in, &outputs, options, "threads: -1 is below 0 (all)");
  REGARD_CHECK(regard_options_set_threads(options, 0) == REGARD_OK);
  REGARD_CHECK(regard_options_set_window(options, -2, 0) == REGARD_OK);
  refused(&in, &outputs, options, "window: -2 is below -1 (unlimited)");
  regard_options_free(options);
}

static void names(void) {
  REGARD_CHECK(strcmp(regard_code_name(REGARD_OK), "ok") == 0);
  REGARD_CHECK(strcmp(regard_code_name(REGARD_OUT_OF_MEMORY), "out_of_memory") == 0);
  REGARD_CHECK(strcmp(regard_code_name(REGARD_INTERNAL), "internal") == 0);
  REGARD_CHECK(strcmp(regard_code_name(-1), "unknown") == 0);
  REGARD_CHECK(strcmp(regard_code_name(7), "unknown") == 0);
}

int main(void) {
  context = regard_context_new(1);
  fill(&inputs);
  spoil(&got);
  null_pointers();
  tensors();
  types();
  struct_sizes();
  spoil(&got);
  setters();
  names();
  regard_context_free(context);
  return failures();
}

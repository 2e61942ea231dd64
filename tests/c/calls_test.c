/* Contexts, outputs, explanations, packed sequences, scratch and cancel. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attention.h"
#include "support.h"

static Data inputs;
static regard_inputs in;
static Answer expected;

/* One worker after another, on the calling thread. */
static void run_in_turn(void* user, int workers, regard_task task, void* state) {
  ++*(int*)user;
  for (int w = 0; w < workers; ++w) task(state, w);
}

static void contexts(void) {
  int runs = 0;
  regard_context* own = regard_context_new_with(run_in_turn, &runs, 3);
  regard_context* two = regard_context_new(2);
  REGARD_CHECK(regard_context_threads(own) == 3);
  REGARD_CHECK(regard_context_threads(two) == 2);
  REGARD_CHECK(regard_context_threads(NULL) == 0);

  /* Long enough for more than one worker. */
  enum { kLong = 600, kWide = 16 };
  float* memory = calloc(4 * kLong * kWide, sizeof *memory);
  regard_inputs large;
  regard_outputs outputs = {.struct_size = sizeof outputs};
  regard_status status;
  for (int n = 0; n < 3 * kLong * kWide; ++n) memory[n] = (float)(n % 13 - 6) / 8;
  large.q = regard_dense(memory, REGARD_F32, 1, 1, kLong, kWide);
  large.k = regard_dense(memory + kLong * kWide, REGARD_F32, 1, 1, kLong, kWide);
  large.v = regard_dense(memory + 2 * kLong * kWide, REGARD_F32, 1, 1, kLong, kWide);
  outputs.out = regard_dense(memory + 3 * kLong * kWide, REGARD_F32, 1, 1, kLong, kWide);
  REGARD_CHECK_OK(regard_forward(own, &large, &outputs, NULL, &status), status);
  REGARD_CHECK(runs > 0);
  float first = memory[3 * kLong * kWide];
  memory[3 * kLong * kWide] = 77;
  REGARD_CHECK_OK(regard_forward(two, &large, &outputs, NULL, &status), status);
  REGARD_CHECK(memory[3 * kLong * kWide] == first);
  free(memory);
  regard_context_free(own);
  regard_context_free(two);
  regard_context_free(NULL);
  regard_options_free(NULL);
}

static void each_output_alone(const regard_context* context) {
  Answer got;
  regard_outputs outputs = {.struct_size = sizeof outputs};
  spoil(&got);
  outputs.lse = lse_view(&got);
  REGARD_CHECK(regard_forward(context, &in, &outputs, NULL, NULL) == REGARD_OK);
  REGARD_CHECK(near(got.lse[3], expected.lse[3], REGARD_ALLOWED));
  REGARD_CHECK(got.out[0] == 77 && got.weights[0] == 77);

  /* (B, S, H, D) in memory: row 2 of head 1 of entry 1. */
  double bshd[kRows * kDv];
  memset(&outputs, 0, sizeof outputs);
  outputs.struct_size = sizeof outputs;
  outputs.out = regard_dense_bshd(bshd, REGARD_F64, kB, kHq, kSq, kDv);
  REGARD_CHECK(regard_forward(context, &in, &outputs, NULL, NULL) == REGARD_OK);
  for (int d = 0; d < kDv; ++d)
    REGARD_CHECK(near(bshd[((1 * kSq + 2) * kHq + 1) * kDv + d],
                      expected.out[((1 * kHq + 1) * kSq + 2) * kDv + d], REGARD_ALLOWED));
}

static void statistics(const regard_context* context) {
  double entropy[kRows], top[kRows * 2], mass[kB * kHq * kSkv];
  int64_t keys[kRows * 2] = {-1};
  regard_outputs outputs = {.struct_size = sizeof outputs};
  regard_status status;
  outputs.entropy = regard_dense(entropy, REGARD_F64, kB, kHq, kSq, 1);
  outputs.top_weights = regard_dense(top, REGARD_F64, kB, kHq, kSq, 2);
  outputs.top_keys = regard_dense(keys, REGARD_I64, kB, kHq, kSq, 2);
  outputs.key_mass = regard_dense(mass, REGARD_F64, kB, kHq, 1, kSkv);
  REGARD_CHECK_OK(regard_forward(context, &in, &outputs, NULL, &status), status);
  double sum = 0;
  for (int row = 0; row < kRows; ++row) {
    const double* p = expected.weights + row * kSkv;
    double h = 0;
    int largest = 0;
    for (int j = 0; j < kSkv; ++j) {
      h -= p[j] * log(p[j]);
      if (p[j] > p[largest]) largest = j;
    }
    REGARD_CHECK(near(entropy[row], h, 1e-12));
    REGARD_CHECK(near(top[2 * row], p[largest], REGARD_ALLOWED) &&
                 top[2 * row + 1] <= top[2 * row]);
    const int found = keys[2 * row] >= 0 && keys[2 * row] < kSkv;
    REGARD_CHECK(found && near(p[keys[2 * row]], p[largest], REGARD_ALLOWED));
  }
  for (int i = 0; i < kSq; ++i) sum += expected.weights[i * kSkv + 3];
  REGARD_CHECK(near(mass[3], sum, 1e-12));
}

static void explanations(const regard_context* context) {
  char text[2000], cut[10];
  regard_explanation full = {.struct_size = sizeof full, .text = text, .text_bytes = sizeof text};
  regard_explanation part = {.struct_size = sizeof part, .text = cut, .text_bytes = sizeof cut};
  regard_explanation none = {.struct_size = sizeof none};
  Answer got;
  regard_outputs outputs = {.struct_size = sizeof outputs};
  regard_status status;
  outputs.out = out_view(&got);
  REGARD_CHECK_OK(regard_explain(context, &in, &outputs, NULL, &full, &status), status);
  REGARD_CHECK_OK(regard_explain(context, &in, &outputs, NULL, &part, &status), status);
  REGARD_CHECK_OK(regard_explain(context, &in, &outputs, NULL, &none, &status), status);
  REGARD_CHECK(full.text_length == strlen(text) && text[full.text_length - 1] == '\n');
  REGARD_CHECK(strstr(text, full.isa) != NULL && full.isa[0] != '\0');
  REGARD_CHECK(strlen(cut) == 9 && strncmp(cut, text, 9) == 0);
  REGARD_CHECK(part.text_length == full.text_length && none.text_length == full.text_length);
  REGARD_CHECK(full.path != REGARD_PATH_AUTOMATIC && full.threads == 1);
  REGARD_CHECK(full.main_items > 0 && full.scratch_bytes > 0 && full.passes == 1);
  REGARD_CHECK(full.tiles_visited == full.tiles_total);
  REGARD_CHECK(strcmp(full.unit, "fma") == 0);
}

static void callers_scratch(const regard_context* context) {
  Answer got;
  regard_explanation found = {.struct_size = sizeof found};
  regard_outputs outputs = {.struct_size = sizeof outputs};
  regard_options* options = regard_options_new();
  regard_status status;
  spoil(&got);
  outputs.out = out_view(&got);
  REGARD_CHECK_OK(regard_explain(context, &in, &outputs, options, &found, &status), status);
  const size_t bytes = (size_t)found.scratch_bytes;
  char* memory = malloc(bytes + 128);
  char* aligned = memory + (64 - (uintptr_t)memory % 64);
  memset(aligned, 42, bytes + 64);
  regard_options_set_scratch(options, aligned, bytes);
  REGARD_CHECK_OK(regard_forward(context, &in, &outputs, options, &status), status);
  REGARD_CHECK(near(got.out[4], expected.out[4], REGARD_ALLOWED));
  for (size_t n = 0; n < 64; ++n) REGARD_CHECK(aligned[bytes + n] == 42);
  size_t written = 0;
  for (size_t n = 0; n < bytes; ++n) written += aligned[n] != 42;
  REGARD_CHECK(written > 0);

  regard_options_set_scratch(options, aligned, bytes - 1);
  REGARD_CHECK(regard_forward(context, &in, &outputs, options, &status) == REGARD_INVALID_ARGUMENT);
  REGARD_CHECK(strncmp(status.message, "scratch: ", 9) == 0);
  free(memory);
  regard_options_free(options);
}

static int stop_at_zero(void* user) {
  return --*(int*)user < 0;
}

static void cancel(const regard_context* context) {
  Answer got;
  regard_outputs outputs = {.struct_size = sizeof outputs};
  regard_options* options = regard_options_new();
  regard_status status;
  int left = 0;
  outputs.out = out_view(&got);
  regard_options_set_cancel(options, stop_at_zero, &left);
  REGARD_CHECK(regard_forward(context, &in, &outputs, options, &status) == REGARD_CANCELLED);
  REGARD_CHECK(status.code == REGARD_CANCELLED && left < 0);
  left = 1 << 20;
  REGARD_CHECK_OK(regard_forward(context, &in, &outputs, options, &status), status);
  REGARD_CHECK(left < 1 << 20);
  left = 0;
  regard_options_set_cancel(options, NULL, NULL);
  REGARD_CHECK_OK(regard_forward(context, &in, &outputs, options, &status), status);
  regard_options_free(options);
}

/* Entry 0 and entry 1 of the problem, one behind the other, with 5 and 3 rows, 7 and 4 keys. */
static void packed_sequences(const regard_context* context) {
  enum { kPackedRows = 8, kPackedKeys = 11 };
  static const int64_t q_starts[] = {0, 5, 8}, kv_starts[] = {0, 7, 11}, rows[] = {5, 3},
                       keys[] = {7, 4};
  const regard_sequences sequences = {.count = 2, .q = q_starts, .kv = kv_starts};
  double q[kHq * kPackedRows * kD], k[kHkv * kPackedKeys * kD], v[kHkv * kPackedKeys * kDv];
  double out[kHq * kPackedRows * kDv];
  Meaning meaning = default_meaning();
  Answer whole;
  for (int h = 0; h < kHq; ++h)
    for (int n = 0; n < kPackedRows; ++n)
      memcpy(q + (h * kPackedRows + n) * kD,
             inputs.q + (((n >= 5) * kHq + h) * kSq + n - (n >= 5) * 5) * kD, kD * sizeof *q);
  for (int h = 0; h < kHkv; ++h)
    for (int n = 0; n < kPackedKeys; ++n) {
      const int from = ((n >= 7) * kHkv + h) * kSkv + n - (n >= 7) * 7;
      memcpy(k + (h * kPackedKeys + n) * kD, inputs.k + from * kD, kD * sizeof *k);
      memcpy(v + (h * kPackedKeys + n) * kDv, inputs.v + from * kDv, kDv * sizeof *v);
    }
  regard_inputs packed;
  packed.q = regard_dense(q, REGARD_F64, 1, kHq, kPackedRows, kD);
  packed.k = regard_dense(k, REGARD_F64, 1, kHkv, kPackedKeys, kD);
  packed.v = regard_dense(v, REGARD_F64, 1, kHkv, kPackedKeys, kDv);
  regard_outputs outputs = {.struct_size = sizeof outputs};
  regard_explanation found = {.struct_size = sizeof found};
  regard_status status;
  outputs.out = regard_dense(out, REGARD_F64, 1, kHq, kPackedRows, kDv);
  meaning.q_len = rows;
  meaning.kv_len = keys;
  attend(&inputs, &meaning, &whole);
  REGARD_CHECK_OK(
      regard_explain_varlen(context, &packed, &sequences, &outputs, NULL, &found, &status), status);
  REGARD_CHECK(found.main_items > 0);
  REGARD_CHECK_OK(regard_forward_varlen(context, &packed, &sequences, &outputs, NULL, &status),
                  status);
  for (int h = 0; h < kHq; ++h)
    for (int n = 0; n < kPackedRows; ++n)
      for (int d = 0; d < kDv; ++d)
        REGARD_CHECK(near(out[(h * kPackedRows + n) * kDv + d],
                          whole.out[(((n >= 5) * kHq + h) * kSq + n - (n >= 5) * 5) * kDv + d],
                          REGARD_ALLOWED));
}

int main(void) {
  const Meaning meaning = default_meaning();
  regard_context* context = regard_context_new(1);
  fill(&inputs);
  in = views(&inputs);
  attend(&inputs, &meaning, &expected);
  REGARD_CHECK(strcmp(regard_version(), "") != 0);
  contexts();
  each_output_alone(context);
  statistics(context);
  explanations(context);
  callers_scratch(context);
  cancel(context);
  packed_sequences(context);
  regard_context_free(context);
  return failures();
}

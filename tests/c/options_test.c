/* Every option through its setter, against attention from the definition. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "attention.h"
#include "support.h"

static Data inputs;
static double bias[kB * kHq * kSq * kSkv];
static const double slopes[kHq] = {0.5, 0.25, 0.125, 0};
static const double sinks[kHq] = {-1, 0, 2, -INFINITY};
static unsigned char mask[kSq * kSkv];

static void set_nothing(regard_options* options, Meaning* meaning) {
  (void)options;
  (void)meaning;
}
static void set_scale(regard_options* options, Meaning* meaning) {
  meaning->scale = -0.25;
  regard_options_set_scale(options, -0.25);
}
static void set_softcap(regard_options* options, Meaning* meaning) {
  meaning->softcap = 1.5;
  regard_options_set_softcap(options, 1.5);
}
static void set_bias(regard_options* options, Meaning* meaning) {
  const regard_tensor view = regard_dense(bias, REGARD_F64, kB, kHq, kSq, kSkv);
  meaning->bias = bias;
  regard_options_set_bias(options, &view);
}
static void set_alibi_slopes(regard_options* options, Meaning* meaning) {
  const regard_tensor view = regard_dense(slopes, REGARD_F64, 1, kHq, 1, 1);
  meaning->slopes = slopes;
  regard_options_set_alibi_slopes(options, &view);
}
static void set_sinks(regard_options* options, Meaning* meaning) {
  const regard_tensor view = regard_dense(sinks, REGARD_F64, 1, kHq, 1, 1);
  meaning->sinks = sinks;
  regard_options_set_sinks(options, &view);
}
static void set_mask(regard_options* options, Meaning* meaning) {
  const regard_tensor view = regard_dense(mask, REGARD_BOOL, 1, 1, kSq, kSkv);
  meaning->mask = mask;
  regard_options_set_mask(options, &view);
}
static void set_top_left(regard_options* options, Meaning* meaning) {
  meaning->causal = REGARD_CAUSAL_TOP_LEFT;
  regard_options_set_causal(options, REGARD_CAUSAL_TOP_LEFT);
}
static void set_bottom_right(regard_options* options, Meaning* meaning) {
  meaning->causal = REGARD_CAUSAL_BOTTOM_RIGHT;
  regard_options_set_causal(options, REGARD_CAUSAL_BOTTOM_RIGHT);
}
/* The array is gone when the call comes: the setter has copied it. */
static void set_q_offset(regard_options* options, Meaning* meaning) {
  static const int64_t kept[kB] = {3, -2};
  int64_t given[kB];
  memcpy(given, kept, sizeof given);
  set_top_left(options, meaning);
  meaning->q_offset = kept;
  regard_options_set_q_offset(options, given, kB);
  memset(given, 1, sizeof given);
}
static void set_window(regard_options* options, Meaning* meaning) {
  meaning->left = 2;
  meaning->right = 1;
  regard_options_set_window(options, 2, 1);
}
static void set_lengths(regard_options* options, Meaning* meaning) {
  static const int64_t rows[kB] = {5, 3}, keys[kB] = {4, 7};
  set_bottom_right(options, meaning);
  meaning->q_len = rows;
  meaning->kv_len = keys;
  regard_options_set_q_len(options, rows, kB);
  regard_options_set_kv_len(options, keys, kB);
}
static void set_how(regard_options* options, Meaning* meaning) {
  (void)meaning;
  regard_options_set_precision(options, REGARD_PRECISION_HIGH);
  regard_options_set_path(options, REGARD_PATH_DIRECT);
  regard_options_set_threads(options, 1);
}
static void set_all(regard_options* options, Meaning* meaning) {
  set_scale(options, meaning);
  set_softcap(options, meaning);
  set_bias(options, meaning);
  set_alibi_slopes(options, meaning);
  set_sinks(options, meaning);
  set_mask(options, meaning);
  set_lengths(options, meaning);
  set_window(options, meaning);
  set_how(options, meaning);
}

typedef struct {
  const char* name;
  void (*set)(regard_options* options, Meaning* meaning);
} OptionCase;

static const OptionCase kCases[] = {
    {"nothing", set_nothing},
    {"scale", set_scale},
    {"softcap", set_softcap},
    {"bias", set_bias},
    {"alibi_slopes", set_alibi_slopes},
    {"sinks", set_sinks},
    {"mask", set_mask},
    {"causal top_left", set_top_left},
    {"causal bottom_right", set_bottom_right},
    {"q_offset", set_q_offset},
    {"window", set_window},
    {"q_len, kv_len", set_lengths},
    {"precision, path, threads", set_how},
    {"all of them", set_all},
};

static void compare(const char* name, const Answer* got, const Answer* expected) {
  int wrong = 0;
  for (int n = 0; n < kRows * kDv; ++n)
    wrong += !near(got->out[n], expected->out[n], REGARD_ALLOWED);
  for (int n = 0; n < kRows; ++n) wrong += !near(got->lse[n], expected->lse[n], REGARD_ALLOWED);
  for (int n = 0; n < kRows * kSkv; ++n)
    wrong += !near(got->weights[n], expected->weights[n], REGARD_ALLOWED);
  if (wrong > 0) printf("%s: %d numbers are wrong\n", name, wrong);
  REGARD_CHECK(wrong == 0);
}

static void run_case(const OptionCase* tested, const regard_context* context) {
  Answer got, expected;
  Meaning meaning = default_meaning();
  regard_options* options = regard_options_new();
  const regard_inputs in = views(&inputs);
  regard_outputs outputs = {.struct_size = sizeof outputs};
  regard_status status;
  outputs.out = out_view(&got);
  outputs.lse = lse_view(&got);
  outputs.weights = weights_view(&got);
  spoil(&got);
  tested->set(options, &meaning);
  attend(&inputs, &meaning, &expected);
  if (regard_forward(context, &in, &outputs, options, &status) != REGARD_OK)
    printf("%s:\n", tested->name);
  REGARD_CHECK_OK(status.code, status);
  compare(tested->name, &got, &expected);

  /* Cleared options are as good as none. */
  meaning = default_meaning();
  attend(&inputs, &meaning, &expected);
  REGARD_CHECK(regard_options_clear(options) == REGARD_OK);
  REGARD_CHECK_OK(regard_forward(context, &in, &outputs, options, &status), status);
  compare("cleared", &got, &expected);
  regard_options_free(options);
}

/* Rows and stage decide what the weights are. */
static void weights_of_chosen_rows(const regard_context* context) {
  const int64_t rows[] = {4, 0, 4};
  const Meaning meaning = default_meaning();
  double got[kB * kHq * 3 * kSkv];
  Answer expected;
  regard_options* options = regard_options_new();
  const regard_inputs in = views(&inputs);
  regard_outputs outputs = {.struct_size = sizeof outputs};
  regard_status status;
  attend(&inputs, &meaning, &expected);
  outputs.weights = regard_dense(got, REGARD_F64, kB, kHq, 3, kSkv);
  regard_options_set_rows(options, rows, 3);
  REGARD_CHECK_OK(regard_forward(context, &in, &outputs, options, &status), status);
  for (int head = 0; head < kB * kHq; ++head)
    for (int r = 0; r < 3; ++r)
      for (int j = 0; j < kSkv; ++j)
        REGARD_CHECK(near(got[(head * 3 + r) * kSkv + j],
                          expected.weights[(head * kSq + rows[r]) * kSkv + j], REGARD_ALLOWED));

  regard_options_set_weights_stage(options, REGARD_STAGE_SCALED);
  REGARD_CHECK_OK(regard_forward(context, &in, &outputs, options, &status), status);
  double first = 0;
  for (int d = 0; d < kD; ++d) first += inputs.q[4 * kD + d] * inputs.k[d] / sqrt(kD);
  REGARD_CHECK(near(got[0], first, REGARD_ALLOWED));
  regard_options_free(options);
}

int main(void) {
  regard_context* context = regard_context_new(1);
  fill(&inputs);
  for (int n = 0; n < kB * kHq * kSq * kSkv; ++n) bias[n] = n % 11 == 0 ? -INFINITY : n % 7 / 4.0;
  for (int n = 0; n < kSq * kSkv; ++n) mask[n] = n % 3 != 0;
  for (size_t n = 0; n < sizeof kCases / sizeof *kCases; ++n) run_case(&kCases[n], context);
  weights_of_chosen_rows(context);
  regard_context_free(context);
  return failures();
}

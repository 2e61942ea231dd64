/* Merging parts, and judging results. */
#include <math.h>
#include <string.h>

#include "attention.h"
#include "support.h"

static Data inputs;
static regard_inputs in;

/* Keys [begin, end) of k and v. */
static regard_inputs keys(int begin, int end) {
  regard_inputs part = in;
  part.k.data = (double*)part.k.data + begin * kD;
  part.v.data = (double*)part.v.data + begin * kDv;
  part.k.shape[2] = part.v.shape[2] = end - begin;
  return part;
}

static void merge_two_parts(const regard_context* context) {
  static const double sinks[kHq] = {-1, 0, 2, -INFINITY};
  const regard_tensor sinks_view = regard_dense(sinks, REGARD_F64, 1, kHq, 1, 1);
  const regard_inputs halves[] = {keys(0, 3), keys(3, kSkv)};
  Answer part[2], got, expected;
  regard_part parts[2];
  regard_status status;
  Meaning meaning = default_meaning();
  const regard_tensor out = out_view(&got), lse = lse_view(&got);
  for (int n = 0; n < 2; ++n) {
    regard_outputs outputs = {.struct_size = sizeof outputs};
    parts[n].out = outputs.out = out_view(&part[n]);
    parts[n].lse = outputs.lse = lse_view(&part[n]);
    REGARD_CHECK_OK(regard_forward(context, &halves[n], &outputs, NULL, &status), status);
  }
  meaning.sinks = sinks;
  attend(&inputs, &meaning, &expected);
  REGARD_CHECK_OK(regard_merge(parts, 2, &sinks_view, &out, &lse, &status), status);
  for (int n = 0; n < kRows * kDv; ++n)
    REGARD_CHECK(near(got.out[n], expected.out[n], 2 * REGARD_ALLOWED));
  for (int n = 0; n < kRows; ++n)
    REGARD_CHECK(near(got.lse[n], expected.lse[n], 2 * REGARD_ALLOWED));

  spoil(&got);
  REGARD_CHECK_OK(regard_merge(parts, 2, NULL, NULL, &lse, &status), status);
  REGARD_CHECK(got.out[0] == 77 && got.lse[0] != 77);
  parts[1].lse.shape[1] = 3;
  spoil(&got);
  REGARD_CHECK(regard_merge(parts, 2, NULL, &out, &lse, &status) == REGARD_INVALID_ARGUMENT);
  check_refused(&status, REGARD_INVALID_ARGUMENT,
                "parts[1].lse: shape (2, 3, 5, 1) differs from (2, 4, 5, 1)");
  regard_merge(parts, 0, NULL, &out, &lse, &status);
  check_refused(&status, REGARD_INVALID_ARGUMENT,
                "parts: 0 of them are given, at least 1 is needed");
  regard_merge(parts, -1, NULL, &out, &lse, &status);
  check_refused(&status, REGARD_INVALID_ARGUMENT, "parts: the count is -1, below 0");
  regard_merge(NULL, 1, NULL, &out, &lse, &status);
  check_refused(&status, REGARD_INVALID_ARGUMENT, "parts: the pointer is null");
  REGARD_CHECK(untouched(&got));
}

/* A result without 1/sqrt(D) is named as such. */
static void name_convention(const regard_context* context) {
  Answer got;
  regard_check_settings settings = {.struct_size = sizeof settings, .skip_convention = 1};
  regard_check_report report = {.struct_size = sizeof report};
  regard_outputs outputs = {.struct_size = sizeof outputs};
  regard_options* options = regard_options_new();
  regard_status status;
  const regard_tensor out = out_view(&got);
  outputs.out = out;
  regard_options_set_scale(options, 1);
  REGARD_CHECK_OK(regard_forward(context, &in, &outputs, options, &status), status);
  REGARD_CHECK_OK(regard_check(&in, NULL, &out, NULL, NULL, &report, &status), status);
  REGARD_CHECK(report.passed == 0 && strcmp(report.convention, "scale=1") == 0);
  REGARD_CHECK(report.convention_sentence[0] != '\0' && report.convention_rows > 0);
  REGARD_CHECK_OK(regard_check(&in, NULL, &out, NULL, &settings, &report, &status), status);
  REGARD_CHECK(report.passed == 0 && report.convention[0] == '\0' && report.convention_rows == 0);
  REGARD_CHECK_OK(regard_check(&in, options, &out, NULL, NULL, &report, &status), status);
  REGARD_CHECK(report.passed == 1 && report.convention_sentence[0] == '\0');
  regard_options_free(options);
}

static int stop_at_once(void* user, int64_t done, int64_t total) {
  *(int64_t*)user = total;
  return done >= 0;
}

static void judge(const regard_context* context) {
  Answer got;
  regard_row_verdict worst[2];
  regard_check_settings settings = {
      .struct_size = sizeof settings, .worst = worst, .worst_count = 2};
  regard_check_report report = {.struct_size = sizeof report};
  regard_outputs outputs = {.struct_size = sizeof outputs};
  regard_status status;
  const regard_tensor out = out_view(&got), lse = lse_view(&got);
  outputs.out = out;
  outputs.lse = lse;
  REGARD_CHECK_OK(regard_forward(context, &in, &outputs, NULL, &status), status);
  REGARD_CHECK_OK(regard_check(&in, NULL, &out, &lse, NULL, &report, &status), status);
  REGARD_CHECK(report.passed == 1 && report.rows_checked == kRows && report.rows_failed == 0);
  REGARD_CHECK(report.worst_units < 1 && report.worst_count == 0);

  /* Row 2 of head 3 of entry 1, column 1. */
  const int row = (1 * kHq + 3) * kSq + 2;
  const double right = got.out[row * kDv + 1];
  got.out[row * kDv + 1] += 1e-6;
  REGARD_CHECK_OK(regard_check(&in, NULL, &out, &lse, &settings, &report, &status), status);
  REGARD_CHECK(report.passed == 0 && report.rows_failed == 1 && report.worst_count == 2);
  REGARD_CHECK(worst[0].b == 1 && worst[0].h == 3 && worst[0].i == 2 && worst[0].d == 1);
  REGARD_CHECK(near(worst[0].expected, right, REGARD_ALLOWED) && worst[0].units > 1);
  REGARD_CHECK(worst[1].units < 1);

  regard_options* options = regard_options_new();
  regard_options_set_scale(options, 3);
  settings.rows = 7;
  REGARD_CHECK_OK(regard_check(&in, options, &out, NULL, &settings, &report, &status), status);
  REGARD_CHECK(report.rows_checked == 7 && report.rows_failed == 7);
  regard_options_free(options);

  int64_t total = 0;
  settings.progress = stop_at_once;
  settings.user = &total;
  REGARD_CHECK(regard_check(&in, NULL, &out, NULL, &settings, &report, &status) ==
               REGARD_CANCELLED);
  REGARD_CHECK(total == 7);
}

static void base2(void) {
  REGARD_CHECK(near(regard_lse_to_base2(log(8)), 3, 1e-15));
  REGARD_CHECK(near(regard_lse_from_base2(3), log(8), 1e-15));
}

int main(void) {
  regard_context* context = regard_context_new(1);
  fill(&inputs);
  in = views(&inputs);
  merge_two_parts(context);
  judge(context);
  name_convention(context);
  base2();
  regard_context_free(context);
  return failures();
}

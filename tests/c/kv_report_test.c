/* The report about what storing costs: one key whose shift is known, by types, cache and view. */
#include <math.h>
#include <string.h>

#include "regard/regard.h"
#include "support.h"

/* int8 stores the first key as (127, 0): its score, 0.25, becomes that of the other, 0. */
static float q_memory[2] = {0, 1}, k_memory[4] = {127, 0.25F, 0, 0}, v_memory[2] = {1, -1};
static const double kClose = 1e-14;
static regard_status status;
static regard_options* scale_of_1;

static regard_inputs inputs_of_two_keys(void) {
  const regard_inputs inputs = {.q = regard_dense(q_memory, REGARD_F32, 1, 1, 1, 2),
                                .k = regard_dense(k_memory, REGARD_F32, 1, 1, 2, 2),
                                .v = regard_dense(v_memory, REGARD_F32, 1, 1, 2, 1)};
  return inputs;
}

static void expect_known_row(const regard_kv_report* report, const regard_kv_row_report* row,
                             const regard_kv_summary* head) {
  const double p = 1 / (1 + exp(-0.25));
  REGARD_CHECK(row->b == 0 && row->h == 0 && row->i == 0 && row->visible == 2);
  REGARD_CHECK(row->logit_shift == 0.25 && row->logit_key == 0);
  REGARD_CHECK(near(row->out_error, 1, kClose) && near(row->weight_moved, p - 0.5, kClose));
  REGARD_CHECK(near(row->entropy_change, log(2) + p * log(p) + (1 - p) * log(1 - p), kClose));
  REGARD_CHECK(report->row_count == 1 && report->head_count == 1 && report->all.rows == 1);
  REGARD_CHECK(head->b == 0 && head->h == 0 && report->all.b == -1 && report->all.h == -1);
  REGARD_CHECK(head->logit_shift.value == 0.25 && head->logit_shift.i == 0);
  REGARD_CHECK(report->all.entropy_change.value == row->entropy_change);
  REGARD_CHECK(report->all.out_error.value == row->out_error);
  REGARD_CHECK(report->all.weight_moved.value == row->weight_moved);
  REGARD_CHECK(head->mean_entropy_change == row->entropy_change);
  REGARD_CHECK(near(head->rms_out_error, 1, kClose));
  REGARD_CHECK(head->rows == 1 && head->rows_empty == 0 && head->rows_undefined == 0);
}

static void by_types_and_by_cache(void) {
  const regard_inputs inputs = inputs_of_two_keys();
  const regard_kv_cache_options cached = {.struct_size = sizeof cached,
                                          .k_type = REGARD_KV_INT8,
                                          .v_type = REGARD_KV_F32,
                                          .kv_heads = 1,
                                          .k_head_size = 2,
                                          .v_head_size = 1,
                                          .pages = 1};
  regard_kv_row_report row;
  regard_kv_summary head;
  regard_kv_report report = {.struct_size = sizeof report};
  const regard_kv_report_settings settings = {.struct_size = sizeof settings,
                                              .row_reports = &row,
                                              .row_room = 1,
                                              .heads = &head,
                                              .head_room = 1};
  regard_kv_cache* cache = NULL;
  int64_t sequence = -7;
  REGARD_CHECK_OK(regard_report_kv(&inputs, REGARD_KV_INT8, REGARD_KV_F32, scale_of_1, &settings,
                                   &report, &status),
                  status);
  expect_known_row(&report, &row, &head);

  REGARD_CHECK_OK(regard_kv_cache_new(&cached, &cache, &status), status);
  REGARD_CHECK_OK(regard_kv_cache_add(cache, &sequence, &status), status);
  REGARD_CHECK_OK(regard_kv_cache_append(cache, sequence, &inputs.k, &inputs.v, &status), status);
  const regard_kv_sequences sequences = {cache, 1, &sequence};
  memset(&row, 77, sizeof row);
  memset(&head, 77, sizeof head);
  REGARD_CHECK_OK(
      regard_report_kv_cache(&inputs, &sequences, scale_of_1, &settings, &report, &status), status);
  expect_known_row(&report, &row, &head);
  regard_kv_cache_free(cache);
}

static void by_view(void) {
  const regard_inputs inputs = inputs_of_two_keys();
  static signed char k[16][2] = {{127, 0}};
  static float scales[16] = {1}, v[16] = {1, -1};
  const int32_t table = 0;
  const int32_t* const tables[] = {&table};
  const int64_t lengths[] = {2};
  const regard_kv_view view = {
      .struct_size = sizeof view,
      .k = regard_kv_rows_nhd(k, REGARD_KV_INT8, 1, 16, 2, scales),
      .v = regard_kv_rows_nhd(v, REGARD_KV_F32, 1, 16, 1, NULL),
      .kv_heads = 1,
      .page_tokens = 16,
      .pages = 1,
      .count = 1,
      .page_tables = tables,
      .lengths = lengths,
  };
  regard_kv_report report = {.struct_size = sizeof report};
  REGARD_CHECK_OK(regard_report_kv_view(&inputs, &view, scale_of_1, NULL, &report, &status),
                  status);
  REGARD_CHECK(report.all.logit_shift.value == 0.25 && report.row_count == 1);
}

static int stop(void* user, int64_t done, int64_t total) {
  *(int64_t*)user = total - done;
  return 1;
}

static void what_is_refused(void) {
  const regard_inputs inputs = inputs_of_two_keys();
  const regard_kv_sequences no_cache = {NULL, 0, NULL};
  regard_kv_report report = {.struct_size = sizeof report, .row_count = 77};
  regard_kv_report_settings settings = {.struct_size = sizeof settings, .row_room = 1};
  int64_t left = -7;
  regard_report_kv(NULL, 0, 0, NULL, NULL, &report, &status);
  check_refused(&status, REGARD_INVALID_ARGUMENT, "inputs: the pointer is null");
  regard_report_kv(&inputs, 0, 0, NULL, NULL, NULL, &status);
  check_refused(&status, REGARD_INVALID_ARGUMENT, "report: the pointer is null");
  regard_report_kv(&inputs, 0, 10, NULL, NULL, &report, &status);
  check_refused(&status, REGARD_INVALID_ARGUMENT, "v_type: 10 is not in 0 to 9");
  regard_report_kv(&inputs, REGARD_KV_Q8_0, 0, NULL, NULL, &report, &status);
  check_refused(&status, REGARD_INVALID_ARGUMENT,
                "k_head_size: 2 is not a multiple of 32, the block of q8_0");
  regard_report_kv(&inputs, 0, 0, NULL, &settings, &report, &status);
  check_refused(&status, REGARD_INVALID_ARGUMENT,
                "row_reports: the pointer is null but the count is 1");
  settings.row_room = 0;
  settings.rows = -1;
  regard_report_kv(&inputs, 0, 0, NULL, &settings, &report, &status);
  check_refused(&status, REGARD_INVALID_ARGUMENT, "rows: -1 is below 0");
  settings.rows = 0;
  settings.progress = stop;
  settings.user = &left;
  REGARD_CHECK(regard_report_kv(&inputs, 0, 0, NULL, &settings, &report, NULL) == REGARD_CANCELLED);
  REGARD_CHECK(left == 1);
  regard_report_kv_cache(&inputs, NULL, NULL, NULL, &report, &status);
  check_refused(&status, REGARD_INVALID_ARGUMENT, "sequences: the pointer is null");
  regard_report_kv_cache(&inputs, &no_cache, NULL, NULL, &report, &status);
  check_refused(&status, REGARD_INVALID_ARGUMENT, "sequences.cache: the pointer is null");
  regard_report_kv_view(&inputs, NULL, NULL, NULL, &report, &status);
  check_refused(&status, REGARD_INVALID_ARGUMENT, "view: the pointer is null");
  REGARD_CHECK(report.row_count == 77);
}

int main(void) {
  scale_of_1 = regard_options_new();
  REGARD_CHECK(regard_options_set_scale(scale_of_1, 1) == REGARD_OK);
  by_types_and_by_cache();
  by_view();
  what_is_refused();
  regard_options_free(scale_of_1);
  return failures();
}

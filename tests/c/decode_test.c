/* Decode from C: over a cache and over a view of the caller's memory, against plain loops. */
#include <math.h>
#include <string.h>

#include "support.h"

enum { kSequences = 2, kHq = 4, kHkv = 2, kD = 4, kDv = 3, kMost = 40, kPage = 16 };

static const int64_t lengths[kSequences] = {37, 5};
static float q[kSequences][kHq][kD];
static float k_memory[kSequences][kHkv][kMost][kD], v_memory[kSequences][kHkv][kMost][kDv];
static float out[kSequences][kHq][kDv];
static regard_context* context;
static regard_status status;

/* Numbers in [-1, 1), the same in each run. */
static float next_number(void) {
  static uint32_t state = 1;
  state = state * 1664525u + 1013904223u;
  return (float)(state >> 8) / 8388608.0f - 1;
}

static void fill_all(void) {
  for (int n = 0; n < kSequences * kHq * kD; ++n) (&q[0][0][0])[n] = next_number();
  for (int n = 0; n < kSequences * kHkv * kMost * kD; ++n)
    (&k_memory[0][0][0][0])[n] = next_number();
  for (int n = 0; n < kSequences * kHkv * kMost * kDv; ++n)
    (&v_memory[0][0][0][0])[n] = next_number();
}

/* Attention of the one row of sequence n and head h over all its keys. */
static void attend_row(int n, int h, double* to) {
  double sum = 0;
  for (int d = 0; d < kDv; ++d) to[d] = 0;
  for (int j = 0; j < lengths[n]; ++j) {
    double score = 0;
    for (int d = 0; d < kD; ++d) score += (double)q[n][h][d] * k_memory[n][h / 2][j][d];
    const double weight = exp(score / sqrt(kD));
    sum += weight;
    for (int d = 0; d < kDv; ++d) to[d] += weight * v_memory[n][h / 2][j][d];
  }
  for (int d = 0; d < kDv; ++d) to[d] /= sum;
}

/* Sizes are below 1 and scores below 2: f32 of this length errs by 1e-6 at most. */
static int out_is_right(void) {
  int right = 1;
  for (int n = 0; n < kSequences; ++n) {
    for (int h = 0; h < kHq; ++h) {
      double expected[kDv];
      attend_row(n, h, expected);
      for (int d = 0; d < kDv; ++d) right &= near(out[n][h][d], expected[d], 1e-5);
    }
  }
  return right;
}

static regard_tensor q_view(void) {
  return regard_dense(q, REGARD_F32, kSequences, kHq, 1, kD);
}

static regard_outputs outputs_view(void) {
  regard_outputs outputs = {.struct_size = sizeof outputs};
  outputs.out = regard_dense(out, REGARD_F32, kSequences, kHq, 1, kDv);
  for (int n = 0; n < kSequences * kHq * kDv; ++n) (&out[0][0][0])[n] = 77;
  return outputs;
}

static regard_kv_cache* filled_cache(int64_t* numbers) {
  const regard_kv_cache_options options = {.struct_size = sizeof options,
                                           .k_type = REGARD_KV_F32,
                                           .v_type = REGARD_KV_F32,
                                           .kv_heads = kHkv,
                                           .k_head_size = kD,
                                           .v_head_size = kDv,
                                           .page_tokens = kPage,
                                           .pages = 8};
  regard_kv_cache* cache = NULL;
  REGARD_CHECK_OK(regard_kv_cache_new(&options, &cache, &status), status);
  for (int n = 0; n < kSequences; ++n) {
    regard_tensor k = regard_dense(k_memory[n], REGARD_F32, 1, kHkv, kMost, kD);
    regard_tensor v = regard_dense(v_memory[n], REGARD_F32, 1, kHkv, kMost, kDv);
    k.shape[2] = v.shape[2] = lengths[n];
    REGARD_CHECK_OK(regard_kv_cache_add(cache, &numbers[n], &status), status);
    REGARD_CHECK_OK(regard_kv_cache_append(cache, numbers[n], &k, &v, &status), status);
  }
  return cache;
}

static void over_a_cache(void) {
  int64_t numbers[kSequences];
  regard_kv_cache* cache = filled_cache(numbers);
  regard_kv_sequences sequences = {.cache = cache, .count = kSequences, .numbers = numbers};
  const regard_tensor rows = q_view();
  regard_outputs outputs = outputs_view();
  REGARD_CHECK_OK(regard_decode(context, &rows, &sequences, NULL, &outputs, NULL, &status), status);
  REGARD_CHECK(out_is_right());

  /* The same rows packed, with starts. */
  const int64_t starts[] = {0, 1, 2};
  const regard_decode_rows packed = {.start_count = 3, .starts = starts};
  regard_tensor packed_q = regard_dense(q, REGARD_F32, 1, kHq, 2, kD);
  packed_q.strides[1] = kD;
  packed_q.strides[2] = kHq * kD;
  outputs = outputs_view();
  outputs.out.shape[0] = 1;
  outputs.out.shape[2] = 2;
  outputs.out.strides[1] = kDv;
  outputs.out.strides[2] = kHq * kDv;
  REGARD_CHECK_OK(regard_decode(context, &packed_q, &sequences, &packed, &outputs, NULL, &status),
                  status);
  REGARD_CHECK(out_is_right());

  outputs = outputs_view();
  sequences.numbers = NULL;
  regard_decode(context, &rows, &sequences, NULL, &outputs, NULL, &status);
  check_refused(&status, REGARD_INVALID_ARGUMENT,
                "sequences: the pointer is null but the count is 2");
  sequences.cache = NULL;
  regard_decode(context, &rows, &sequences, NULL, &outputs, NULL, &status);
  check_refused(&status, REGARD_INVALID_ARGUMENT, "sequences.cache: the pointer is null");
  regard_decode(context, &rows, NULL, NULL, &outputs, NULL, &status);
  check_refused(&status, REGARD_INVALID_ARGUMENT, "sequences: the pointer is null");
  REGARD_CHECK(out[0][0][0] == 77);
  regard_kv_cache_free(cache);
}

/* A contiguous cache is one page a sequence, here of 48 tokens of which `kMost` are there: the last
 * ones of the last head lie beyond the memory and are never read. */
static void over_a_view(void) {
  const int32_t first = 0, second = 1;
  const int32_t* tables[] = {&first, &second};
  regard_kv_view view = {.struct_size = sizeof view,
                         .kv_heads = kHkv,
                         .page_tokens = 48,
                         .pages = kSequences,
                         .count = kSequences,
                         .page_tables = tables,
                         .lengths = lengths};
  view.k = regard_kv_rows_hnd(k_memory, REGARD_KV_F32, kHkv, kMost, kD, NULL);
  view.v = regard_kv_rows_hnd(v_memory, REGARD_KV_F32, kHkv, kMost, kDv, NULL);
  REGARD_CHECK(view.k.token_bytes == 16 && view.k.page_bytes == kHkv * kMost * 16);
  REGARD_CHECK(regard_kv_rows_nhd(NULL, REGARD_KV_Q8_0, 2, 16, 32, NULL).token_bytes == 68);
  const regard_tensor rows = q_view();
  regard_outputs outputs = outputs_view();
  REGARD_CHECK_OK(regard_decode_view(context, &rows, &view, NULL, &outputs, NULL, &status), status);
  REGARD_CHECK(out_is_right());

  outputs = outputs_view();
  view.lengths = NULL;
  regard_decode_view(context, &rows, &view, NULL, &outputs, NULL, &status);
  check_refused(&status, REGARD_INVALID_ARGUMENT,
                "lengths: the pointer is null but the count is 2");
  view.count = -1;
  regard_decode_view(context, &rows, &view, NULL, &outputs, NULL, &status);
  check_refused(&status, REGARD_INVALID_ARGUMENT, "page_tables: the count is -1, below 0");
  regard_decode_view(context, &rows, NULL, NULL, &outputs, NULL, &status);
  check_refused(&status, REGARD_INVALID_ARGUMENT, "view: the pointer is null");
  REGARD_CHECK(out[0][0][0] == 77);
}

int main(void) {
  context = regard_context_new(1);
  fill_all();
  over_a_cache();
  over_a_view();
  regard_context_free(context);
  return failures();
}

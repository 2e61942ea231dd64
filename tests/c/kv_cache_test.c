/* Caches of keys and values from C: tokens go in and come out, and what is refused. */
#include <string.h>

#include "support.h"

enum { kHeads = 2, kD = 3, kDv = 2, kTokens = 40 };

/* Numbers that f16 holds exactly. */
static float k_memory[kHeads][kTokens][kD], v_memory[kHeads][kTokens][kDv];
static regard_status status;

static void fill_tokens(void) {
  for (int h = 0; h < kHeads; ++h) {
    for (int t = 0; t < kTokens; ++t) {
      for (int d = 0; d < kD; ++d) k_memory[h][t][d] = (float)(h * 1000 + t * 10 + d);
      for (int d = 0; d < kDv; ++d) v_memory[h][t][d] = -(float)(h * 1000 + t * 10 + d);
    }
  }
}

/* Tokens [begin, end) of the memory above. */
static regard_tensor k_tokens(int begin, int end) {
  regard_tensor k = regard_dense(k_memory[0][begin], REGARD_F32, 1, kHeads, kTokens, kD);
  k.shape[2] = end - begin;
  return k;
}
static regard_tensor v_tokens(int begin, int end) {
  regard_tensor v = regard_dense(v_memory[0][begin], REGARD_F32, 1, kHeads, kTokens, kDv);
  v.shape[2] = end - begin;
  return v;
}

static regard_kv_cache_options options_of(int64_t pages) {
  regard_kv_cache_options options = {.struct_size = sizeof options,
                                     .k_type = REGARD_KV_F16,
                                     .v_type = REGARD_KV_F32,
                                     .kv_heads = kHeads,
                                     .k_head_size = kD,
                                     .v_head_size = kDv,
                                     .page_tokens = 16,
                                     .pages = pages};
  return options;
}

static regard_kv_cache* make(regard_kv_cache_options options) {
  regard_kv_cache* cache = NULL;
  REGARD_CHECK_OK(regard_kv_cache_new(&options, &cache, &status), status);
  return cache;
}

static void append_tokens(regard_kv_cache* cache, int64_t sequence, int begin, int end) {
  const regard_tensor k = k_tokens(begin, end), v = v_tokens(begin, end);
  REGARD_CHECK_OK(regard_kv_cache_append(cache, sequence, &k, &v, &status), status);
}

/* The sequence holds at [begin, ...) the `count` tokens of the memory from `first` on. */
static int holds(const regard_kv_cache* cache, int64_t sequence, int begin, int first, int count) {
  double k_got[kHeads * kTokens * kD], v_got[kHeads * kTokens * kDv];
  const regard_tensor k = regard_dense(k_got, REGARD_F64, 1, kHeads, count, kD);
  const regard_tensor v = regard_dense(v_got, REGARD_F64, 1, kHeads, count, kDv);
  int same = regard_kv_cache_gather(cache, sequence, begin, &k, &v, &status) == REGARD_OK;
  for (int h = 0; same && h < kHeads; ++h) {
    for (int t = 0; t < count; ++t) {
      for (int d = 0; d < kD; ++d)
        same &= k_got[(h * count + t) * kD + d] == k_memory[h][first + t][d];
      for (int d = 0; d < kDv; ++d)
        same &= v_got[(h * count + t) * kDv + d] == v_memory[h][first + t][d];
    }
  }
  return same;
}

static void tokens_go_in_and_out(void) {
  regard_kv_cache* cache = make(options_of(6));
  /* A page: 2 heads of 16 tokens, 6 bytes of K and 8 of V. */
  const int64_t page_bytes = 2 * 16 * (6 + 8);
  int64_t a = -7, b = -7;
  REGARD_CHECK(regard_kv_cache_bytes_reserved(cache) == 6 * page_bytes);
  REGARD_CHECK_OK(regard_kv_cache_add(cache, &a, &status), status);
  append_tokens(cache, a, 0, 20);
  append_tokens(cache, a, 20, 21);
  REGARD_CHECK(regard_kv_cache_length(cache, a) == 21 && holds(cache, a, 0, 0, 21));
  REGARD_CHECK_OK(regard_kv_cache_fork(cache, a, &b, &status), status);
  REGARD_CHECK(regard_kv_cache_bytes_used(cache) == 2 * page_bytes);
  append_tokens(cache, b, 30, 35);
  REGARD_CHECK(regard_kv_cache_free_pages(cache) == 3);
  REGARD_CHECK(holds(cache, b, 0, 0, 21) && holds(cache, b, 21, 30, 5));
  REGARD_CHECK_OK(regard_kv_cache_trim(cache, a, 7, &status), status);
  REGARD_CHECK(regard_kv_cache_length(cache, a) == 7 && regard_kv_cache_length(cache, b) == 26);
  REGARD_CHECK_OK(regard_kv_cache_remove(cache, b, &status), status);
  REGARD_CHECK(regard_kv_cache_length(cache, b) == -1 && holds(cache, a, 0, 0, 7));
  REGARD_CHECK(regard_kv_cache_bytes_used(cache) == page_bytes);
  regard_kv_cache_free(cache);
}

static void rings(void) {
  regard_kv_cache_options options = options_of(4);
  int64_t a = -7;
  options.window = 10;
  options.keep_first = 2;
  options.spare = 1;
  regard_kv_cache* cache = make(options);
  regard_kv_cache_add(cache, &a, &status);
  append_tokens(cache, a, 0, 40);
  REGARD_CHECK(regard_kv_cache_held_from(cache, a) == 30 && holds(cache, a, 30, 30, 10));
  REGARD_CHECK(holds(cache, a, 0, 0, 2) && !holds(cache, a, 0, 0, 3));
  REGARD_CHECK_OK(regard_kv_cache_trim(cache, a, 39, &status), status);
  REGARD_CHECK(regard_kv_cache_trim(cache, a, 38, &status) == REGARD_INVALID_ARGUMENT);
  regard_kv_cache_free(cache);
}

static void defaults(void) {
  regard_kv_cache_options options = options_of(2);
  int64_t a = -7;
  options.page_tokens = 0;
  regard_kv_cache* cache = make(options);
  REGARD_CHECK(regard_kv_cache_bytes_reserved(cache) == 2 * 2 * 64 * (6 + 8));
  regard_kv_cache_add(cache, &a, &status);
  append_tokens(cache, a, 0, 40);
  append_tokens(cache, a, 0, 40);
  REGARD_CHECK(regard_kv_cache_held_from(cache, a) == 0 && holds(cache, a, 40, 0, 40));
  regard_kv_cache_free(cache);
}

static void refused_options(regard_kv_cache_options options, const char* sentence) {
  regard_kv_cache* cache = (regard_kv_cache*)&status;
  REGARD_CHECK(regard_kv_cache_new(&options, &cache, NULL) == REGARD_INVALID_ARGUMENT);
  regard_kv_cache_new(&options, &cache, &status);
  check_refused(&status, REGARD_INVALID_ARGUMENT, sentence);
  REGARD_CHECK(cache == (regard_kv_cache*)&status);
}

static void options_that_are_refused(void) {
  regard_kv_cache_options options = options_of(6);
  options.struct_size = 8;
  refused_options(options,
                  "options: struct_size is 8, it must be sizeof of the struct, at least 80");
  options = options_of(6);
  options.v_type = 256;
  refused_options(options, "v_type: 256 is not in 0 to 9");
  options = options_of(6);
  options.k_type = -1;
  refused_options(options, "k_type: -1 is not in 0 to 9");
  options = options_of(0);
  refused_options(options, "pages: 0 is not in [1, 2147483647]");
  regard_kv_cache* cache = NULL;
  regard_kv_cache_new(NULL, &cache, &status);
  check_refused(&status, REGARD_INVALID_ARGUMENT, "options: the pointer is null");
  options = options_of(6);
  regard_kv_cache_new(&options, NULL, &status);
  check_refused(&status, REGARD_INVALID_ARGUMENT, "cache: the pointer is null");
}

static void null_cache(void) {
  const regard_tensor k = k_tokens(0, 1), v = v_tokens(0, 1);
  const char* sentence = "cache: the pointer is null";
  int64_t number = 77;
  regard_kv_cache_add(NULL, &number, &status);
  check_refused(&status, REGARD_INVALID_ARGUMENT, sentence);
  regard_kv_cache_fork(NULL, 0, &number, &status);
  check_refused(&status, REGARD_INVALID_ARGUMENT, sentence);
  regard_kv_cache_remove(NULL, 0, &status);
  check_refused(&status, REGARD_INVALID_ARGUMENT, sentence);
  regard_kv_cache_append(NULL, 0, &k, &v, &status);
  check_refused(&status, REGARD_INVALID_ARGUMENT, sentence);
  regard_kv_cache_trim(NULL, 0, 0, &status);
  check_refused(&status, REGARD_INVALID_ARGUMENT, sentence);
  regard_kv_cache_gather(NULL, 0, 0, &k, &v, &status);
  check_refused(&status, REGARD_INVALID_ARGUMENT, sentence);
  REGARD_CHECK(number == 77 && regard_kv_cache_length(NULL, 0) == -1);
  REGARD_CHECK(regard_kv_cache_held_from(NULL, 0) == -1);
  REGARD_CHECK(regard_kv_cache_free_pages(NULL) == 0 && regard_kv_cache_bytes_used(NULL) == 0);
  REGARD_CHECK(regard_kv_cache_bytes_reserved(NULL) == 0);
  regard_kv_cache_free(NULL);
}

static void calls_that_are_refused(void) {
  const regard_tensor k = k_tokens(0, 40), v = v_tokens(0, 40);
  regard_tensor wrong = k;
  int64_t a = -7;
  regard_kv_cache* cache = make(options_of(2));
  regard_kv_cache_add(cache, NULL, &status);
  check_refused(&status, REGARD_INVALID_ARGUMENT, "sequence: the pointer is null");
  regard_kv_cache_add(cache, &a, &status);
  regard_kv_cache_fork(cache, a, NULL, &status);
  check_refused(&status, REGARD_INVALID_ARGUMENT, "copy: the pointer is null");
  regard_kv_cache_append(cache, a, &k, NULL, &status);
  check_refused(&status, REGARD_INVALID_ARGUMENT, "v: the pointer is null");
  regard_kv_cache_append(cache, a, NULL, &v, &status);
  check_refused(&status, REGARD_INVALID_ARGUMENT, "k: the pointer is null");
  regard_kv_cache_append(cache, a, &k, &v, &status);
  check_refused(&status, REGARD_OUT_OF_MEMORY,
                "pages: 3 are needed for 40 more tokens, but 2 of 2 are free");
  wrong.dtype = 256;
  regard_kv_cache_append(cache, a, &wrong, &v, &status);
  check_refused(&status, REGARD_INVALID_ARGUMENT,
                "k: dtype unknown is none of f64, f32, f16 and bf16");
  regard_kv_cache_trim(cache, a, 1, &status);
  check_refused(&status, REGARD_INVALID_ARGUMENT,
                "length: 1 is not in [0, 0], the tokens of sequence 0");
  regard_kv_cache_remove(cache, 5, &status);
  check_refused(&status, REGARD_INVALID_ARGUMENT, "sequence: 5 is none of the 1 that live");
  REGARD_CHECK(regard_kv_cache_length(cache, a) == 0 && regard_kv_cache_free_pages(cache) == 2);
  regard_kv_cache_free(cache);
}

int main(void) {
  fill_tokens();
  tokens_go_in_and_out();
  rings();
  defaults();
  options_that_are_refused();
  null_cache();
  calls_that_are_refused();
  return failures();
}

/* The C interface, continued: caches of keys and values, decode, and what storing costs.
 * kv_cache.h, decode.h and kv_report.h say what arguments mean, regard/regard.h what holds of every
 * call; it includes this header.
 */
#ifndef REGARD_REGARD_KV_H
#define REGARD_REGARD_KV_H

#include "regard/regard.h"

/* NOLINTBEGIN(readability-identifier-naming): names as C has them */

#ifdef __cplusplus
extern "C" {
#endif

/* regard::KvType in kv_cache.h. */
typedef int32_t regard_kv_type;
enum {
  REGARD_KV_F32 = 0,
  REGARD_KV_F16 = 1,
  REGARD_KV_BF16 = 2,
  REGARD_KV_FP8_E4M3 = 3,
  REGARD_KV_FP8_E5M2 = 4,
  REGARD_KV_INT8 = 5,    /* one f32 scale a row */
  REGARD_KV_INT8_32 = 6, /* one f16 scale for 32 elements */
  REGARD_KV_INT4_32 = 7, /* the same */
  REGARD_KV_Q8_0 = 8,    /* ggml's blocks */
  REGARD_KV_Q4_0 = 9
};

/* regard::KvCacheOptions. What is 0 below is as its comment says. */
typedef struct regard_kv_cache_options {
  size_t struct_size;
  regard_kv_type k_type;
  regard_kv_type v_type;
  int64_t kv_heads;
  int64_t k_head_size;
  int64_t v_head_size;
  int64_t page_tokens; /* a multiple of 16; 0: 64 */
  int64_t pages;       /* of the pool, all sequences together */
  int64_t window;      /* a ring holds so many last tokens; 0 or -1: everything is held */
  int64_t keep_first;  /* first tokens that a ring holds */
  int64_t spare;       /* tokens before the window that a ring keeps for trims */
} regard_kv_cache_options;

/* Keys and values of running sequences: regard::KvCache. Calls that change one cache need it to
 * themselves; those that take it as const may run at once. */
typedef struct regard_kv_cache regard_kv_cache;

REGARD_API regard_code regard_kv_cache_new(const regard_kv_cache_options* options,
                                           regard_kv_cache** cache, regard_status* status);
REGARD_API void regard_kv_cache_free(regard_kv_cache* cache);

/* A new sequence without tokens, and one with the tokens of another. */
REGARD_API regard_code regard_kv_cache_add(regard_kv_cache* cache, int64_t* sequence,
                                           regard_status* status);
REGARD_API regard_code regard_kv_cache_fork(regard_kv_cache* cache, int64_t sequence, int64_t* copy,
                                            regard_status* status);
REGARD_API regard_code regard_kv_cache_remove(regard_kv_cache* cache, int64_t sequence,
                                              regard_status* status);

/* T tokens behind the others: k (1, Hkv, T, D), v (1, Hkv, T, Dv), of any float types. */
REGARD_API regard_code regard_kv_cache_append(regard_kv_cache* cache, int64_t sequence,
                                              const regard_tensor* k, const regard_tensor* v,
                                              regard_status* status);
/* Keeps the first `length` tokens. */
REGARD_API regard_code regard_kv_cache_trim(regard_kv_cache* cache, int64_t sequence,
                                            int64_t length, regard_status* status);
/* Writes the T tokens from `begin` on as decode reads them: k (1, Hkv, T, D), v (1, Hkv, T, Dv), of
 * any float types; either may be null. */
REGARD_API regard_code regard_kv_cache_gather(const regard_kv_cache* cache, int64_t sequence,
                                              int64_t begin, const regard_tensor* k,
                                              const regard_tensor* v, regard_status* status);

/* Tokens of a sequence, and the first from keep_first on that is held; -1: no such sequence, or
 * null. */
REGARD_API int64_t regard_kv_cache_length(const regard_kv_cache* cache, int64_t sequence);
REGARD_API int64_t regard_kv_cache_held_from(const regard_kv_cache* cache, int64_t sequence);
/* 0 for null. */
REGARD_API int64_t regard_kv_cache_free_pages(const regard_kv_cache* cache);
REGARD_API int64_t regard_kv_cache_bytes_used(const regard_kv_cache* cache);
REGARD_API int64_t regard_kv_cache_bytes_reserved(const regard_kv_cache* cache);

/* ---- Decode: few query rows over cached keys ---- */

/* Where rows of K or V lie: regard::KvRows. */
typedef struct regard_kv_rows {
  const void* data;
  regard_kv_type type;
  int64_t head_size;
  int64_t page_bytes, head_bytes, token_bytes;
  const void* scales;
  int64_t scale_page_bytes, scale_head_bytes, scale_token_bytes;
} regard_kv_rows;

/* Pages (kv_heads, page_tokens, head_size), and (page_tokens, kv_heads, head_size), one after
 * another; scales may be null. */
REGARD_API regard_kv_rows regard_kv_rows_hnd(const void* data, regard_kv_type type,
                                             int64_t kv_heads, int64_t page_tokens,
                                             int64_t head_size, const void* scales);
REGARD_API regard_kv_rows regard_kv_rows_nhd(const void* data, regard_kv_type type,
                                             int64_t kv_heads, int64_t page_tokens,
                                             int64_t head_size, const void* scales);

/* Cached sequences in anyone's memory: regard::KvView. */
typedef struct regard_kv_view {
  size_t struct_size;
  regard_kv_rows k, v;
  int64_t kv_heads;
  int64_t page_tokens;
  int64_t pages;
  int64_t count;                     /* sequences, as many as the arrays hold */
  const int32_t* const* page_tables; /* one a sequence */
  const int64_t* lengths;
  const int64_t* held_from; /* null: all tokens are there */
  int64_t keep_first;
} regard_kv_view;

/* Some sequences of a cache. */
typedef struct regard_kv_sequences {
  const regard_kv_cache* cache;
  int64_t count;
  const int64_t* numbers;
} regard_kv_sequences;

/* Which rows of q are whose: regard::DecodeRows in decode.h. Counts of 0: q is (N, Hq, Sq, D), and
 * there is no tree. */
typedef struct regard_decode_rows {
  int64_t start_count;
  const int64_t* starts;
  int64_t parent_count;
  const int64_t* parents;
} regard_decode_rows;

/* Attention over sequences of a cache, and over a view: regard::decode. Null rows: Sq rows of q a
 * sequence, no tree. */
REGARD_API regard_code regard_decode(const regard_context* context, const regard_tensor* q,
                                     const regard_kv_sequences* sequences,
                                     const regard_decode_rows* rows, const regard_outputs* outputs,
                                     const regard_options* options, regard_status* status);
REGARD_API regard_code regard_decode_view(const regard_context* context, const regard_tensor* q,
                                          const regard_kv_view* view,
                                          const regard_decode_rows* rows,
                                          const regard_outputs* outputs,
                                          const regard_options* options, regard_status* status);

/* ---- What storing costs ---- */

/* What became of one row: regard::KvRowReport in kv_report.h. */
typedef struct regard_kv_row_report {
  int64_t b, h, i;
  int64_t visible;       /* keys the row sees; 0: all below is 0 */
  double out_error;      /* |o' - o| / |o|; infinite where o alone is 0, or o' alone not finite */
  double logit_shift;    /* largest, over visible keys, after scale and softcap */
  int64_t logit_key;     /* where; -1: the row sees no key */
  double entropy_change; /* nats */
  double weight_moved;   /* total variation of the weights, 0 to 1 */
} regard_kv_row_report;

typedef struct regard_kv_worst {
  double value;
  int64_t b, h, i; /* -1: no row was measured */
} regard_kv_worst;

/* Of one head's rows, or of all: regard::KvSummary. */
typedef struct regard_kv_summary {
  int64_t b, h; /* -1: all heads together */
  int64_t rows; /* measured */
  int64_t rows_empty;
  int64_t rows_undefined; /* not finite before storing */
  double rms_out_error;
  double mean_entropy_change;
  regard_kv_worst out_error, logit_shift, weight_moved, entropy_change;
} regard_kv_summary;

typedef struct regard_kv_report_settings {
  size_t struct_size;
  int64_t rows; /* sampled over all batch entries and heads; 0: every row */
  uint64_t seed;
  regard_kv_row_report* row_reports; /* where to write the first rows; may be null */
  int64_t row_room;                  /* room there */
  regard_kv_summary* heads;          /* where to write the first B Hq heads; may be null */
  int64_t head_room;
  /* Called with rows done and rows in all; not 0 stops with REGARD_CANCELLED. May be null. */
  int (*progress)(void* user, int64_t done, int64_t total);
  void* user;
} regard_kv_report_settings;

typedef struct regard_kv_report {
  size_t struct_size;
  int64_t row_count; /* looked at; as many were written as there was room for */
  int64_t head_count;
  regard_kv_summary all;
} regard_kv_report;

/* What a cache of these types would do to attention over inputs (whose k and v may be of any float
 * types), and what a cache or a view has done to k (N, Hkv, longest length, D) and v, given as they
 * were before: regard::report_kv. Null settings: every row, and the summary alone. */
REGARD_API regard_code regard_report_kv(const regard_inputs* inputs, regard_kv_type k_type,
                                        regard_kv_type v_type, const regard_options* options,
                                        const regard_kv_report_settings* settings,
                                        regard_kv_report* report, regard_status* status);
REGARD_API regard_code regard_report_kv_cache(const regard_inputs* inputs,
                                              const regard_kv_sequences* sequences,
                                              const regard_options* options,
                                              const regard_kv_report_settings* settings,
                                              regard_kv_report* report, regard_status* status);
REGARD_API regard_code regard_report_kv_view(const regard_inputs* inputs,
                                             const regard_kv_view* view,
                                             const regard_options* options,
                                             const regard_kv_report_settings* settings,
                                             regard_kv_report* report, regard_status* status);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(readability-identifier-naming) */

#endif

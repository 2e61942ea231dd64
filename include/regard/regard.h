/* The C interface: attention, its explanation, its check against the oracle, merging, and caches of
 * keys and values. C99, and C++ that wants no C++ types. regard/attention.h, options.h, check.h,
 * merge.h and kv_cache.h say what arguments mean; names and conventions are the same here. A
 * program in C links the shared library; with the static one it has to link the C++ runtime too
 * (-lstdc++ -lm -pthread).
 *
 * Errors. What can fail returns a code, REGARD_OK being 0, and takes last a regard_status (null:
 * not wanted) for the code again and a sentence. On failure outputs are untouched, unless it was
 * cancelled. A null pointer where none may be is REGARD_INVALID_ARGUMENT.
 *
 * Memory. Tensors and arrays stay the caller's; a call reads them and keeps nothing. Only handles
 * own memory: what a _new function gives goes to its _free, for which null is fine. Setters copy
 * arrays; tensors, scratch and callbacks they keep as pointers until the options are freed, changed
 * or cleared.
 *
 * Threads. Any number of threads may call at once with one context and the same options, unless
 * these hold scratch, which serves one call at a time. Setters and _free need their handle to
 * themselves.
 *
 * Versions. Options, contexts and caches are opaque and grow by functions. regard_outputs,
 * regard_explanation, regard_kv_cache_options, regard_kv_view and the structs of regard_check open
 * with struct_size, which the caller sets to sizeof the struct. They grow at the end: the library
 * touches nothing beyond the size it is told, and refuses what it does not know yet unless it is 0.
 * All other structs, and the numbers of enumerations, never change within one SOVERSION.
 */
#ifndef REGARD_REGARD_H
#define REGARD_REGARD_H

#include <stddef.h>
#include <stdint.h>

#include "regard/export.h"

/* NOLINTBEGIN(readability-identifier-naming): names as C has them */

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Outcome ---- */

typedef int32_t regard_code;
enum {
  REGARD_OK = 0,
  REGARD_INVALID_ARGUMENT = 1, /* the call contradicts itself; the sentence names the argument */
  REGARD_UNSUPPORTED = 2,      /* the call is sound, this version or machine cannot serve it */
  REGARD_OUT_OF_MEMORY = 3,
  REGARD_CANCELLED = 4, /* the cancel callback said so; outputs are unspecified */
  REGARD_IO_ERROR = 5,
  REGARD_INTERNAL = 6
};

typedef struct regard_status {
  regard_code code;
  char message[512]; /* one sentence, cut where it is longer; empty when ok */
} regard_status;

/* "invalid_argument"; "unknown" for a number outside the enumeration. */
REGARD_API const char* regard_code_name(regard_code code);

/* "0.1.0", that of the library in use. */
REGARD_API const char* regard_version(void);

/* ---- Tensors ---- */

typedef int32_t regard_dtype;
enum {
  REGARD_F64 = 0,
  REGARD_F32 = 1,
  REGARD_F16 = 2,  /* IEEE 754 binary16 */
  REGARD_BF16 = 3, /* the upper half of a binary32 */
  REGARD_BOOL = 4, /* one byte, not 0 is true */
  REGARD_I64 = 5
};

/* A view in the logical order (B, H, S, D), whatever the order in memory; strides in elements, on
 * inputs also 0 or negative. Inputs are not written, though `data` is not const. An output of null
 * `data` is not wanted. */
typedef struct regard_tensor {
  void* data;
  regard_dtype dtype;
  int64_t shape[4];
  int64_t strides[4];
} regard_tensor;

/* Dense memory whose last axis is contiguous. */
static inline regard_tensor regard_dense(const void* data, regard_dtype dtype, int64_t b, int64_t h,
                                         int64_t s, int64_t d) {
  regard_tensor tensor;
  tensor.data = (void*)(uintptr_t)data;
  tensor.dtype = dtype;
  tensor.shape[0] = b;
  tensor.shape[1] = h;
  tensor.shape[2] = s;
  tensor.shape[3] = d;
  tensor.strides[0] = h * s * d;
  tensor.strides[1] = s * d;
  tensor.strides[2] = d;
  tensor.strides[3] = 1;
  return tensor;
}

/* Dense memory in the order (B, S, H, D). */
static inline regard_tensor regard_dense_bshd(const void* data, regard_dtype dtype, int64_t b,
                                              int64_t h, int64_t s, int64_t d) {
  regard_tensor tensor = regard_dense(data, dtype, b, h, s, d);
  tensor.strides[1] = d;
  tensor.strides[2] = h * d;
  return tensor;
}

typedef struct regard_inputs {
  regard_tensor q; /* (B, Hq, Sq, D) */
  regard_tensor k; /* (B, Hkv, Skv, D) */
  regard_tensor v; /* (B, Hkv, Skv, Dv) */
} regard_inputs;

/* What to write: regard::Outputs in attention.h. C is f32, for f64 inputs f64.
 *   regard_outputs outputs = {.struct_size = sizeof outputs};   then the members that are wanted */
typedef struct regard_outputs {
  size_t struct_size;
  regard_tensor out;         /* (B, Hq, Sq, Dv), any float type */
  regard_tensor lse;         /* (B, Hq, Sq, 1), C */
  regard_tensor weights;     /* (B, Hq, R, Skv), C, R = number of rows chosen, else Sq */
  regard_tensor entropy;     /* (B, Hq, Sq, 1), C */
  regard_tensor top_weights; /* (B, Hq, Sq, N), C */
  regard_tensor top_keys;    /* (B, Hq, Sq, N), REGARD_I64 */
  regard_tensor key_mass;    /* (B, Hq, 1, Skv), C */
} regard_outputs;

/* Where sequences lie in packed arrays: sequence n has rows [q[n], q[n + 1]) and keys
 * [kv[n], kv[n + 1]). Both arrays hold count + 1 numbers. */
typedef struct regard_sequences {
  int64_t count;
  const int64_t* q;
  const int64_t* kv;
} regard_sequences;

/* ---- Options ---- */

typedef int32_t regard_causal;
enum { REGARD_CAUSAL_NONE = 0, REGARD_CAUSAL_TOP_LEFT = 1, REGARD_CAUSAL_BOTTOM_RIGHT = 2 };

typedef int32_t regard_precision;
enum { REGARD_PRECISION_DEFAULT = 0, REGARD_PRECISION_HIGH = 1 };

typedef int32_t regard_path;
enum {
  REGARD_PATH_AUTOMATIC = 0,
  REGARD_PATH_DIRECT = 1,
  REGARD_PATH_TILES = 2,
  REGARD_PATH_DECODE = 3
};

typedef int32_t regard_stage;
enum {
  REGARD_STAGE_SOFTMAX = 0,
  REGARD_STAGE_SCALED = 1,
  REGARD_STAGE_CAPPED = 2,
  REGARD_STAGE_BIASED = 3
};

typedef struct regard_options regard_options;

/* Polled between work items, from any thread; not 0 stops the call. It must not call back into the
 * same context, nor unwind. */
typedef int (*regard_cancel)(void* user);

/* Every option off. Null when there is no memory. */
REGARD_API regard_options* regard_options_new(void);
REGARD_API void regard_options_free(regard_options* options);
/* Every option off again. */
REGARD_API regard_code regard_options_clear(regard_options* options);

/* Setters keep what they are given; the call that uses it says whether it makes sense. They fail
 * for null options, a number outside its enumeration, a negative count, a null array of a positive
 * count, and without memory. Then every call with these options fails and says why, until they are
 * cleared. A null tensor is absent, and so is one of null data; an array of 0 numbers is absent.
 * regard/options.h gives shapes and meanings. */
REGARD_API regard_code regard_options_set_scale(regard_options* options, double scale);
REGARD_API regard_code regard_options_set_softcap(regard_options* options, double softcap);
REGARD_API regard_code regard_options_set_bias(regard_options* options, const regard_tensor* bias);
REGARD_API regard_code regard_options_set_alibi_slopes(regard_options* options,
                                                       const regard_tensor* slopes);
REGARD_API regard_code regard_options_set_sinks(regard_options* options,
                                                const regard_tensor* sinks);
REGARD_API regard_code regard_options_set_mask(regard_options* options, const regard_tensor* mask);
REGARD_API regard_code regard_options_set_causal(regard_options* options, regard_causal causal);
REGARD_API regard_code regard_options_set_q_offset(regard_options* options, const int64_t* offsets,
                                                   int64_t count);
REGARD_API regard_code regard_options_set_window(regard_options* options, int64_t left,
                                                 int64_t right);
REGARD_API regard_code regard_options_set_q_len(regard_options* options, const int64_t* lengths,
                                                int64_t count);
REGARD_API regard_code regard_options_set_kv_len(regard_options* options, const int64_t* lengths,
                                                 int64_t count);
REGARD_API regard_code regard_options_set_precision(regard_options* options,
                                                    regard_precision precision);
REGARD_API regard_code regard_options_set_path(regard_options* options, regard_path path);
REGARD_API regard_code regard_options_set_threads(regard_options* options, int threads);
REGARD_API regard_code regard_options_set_rows(regard_options* options, const int64_t* rows,
                                               int64_t count);
REGARD_API regard_code regard_options_set_weights_stage(regard_options* options,
                                                        regard_stage stage);
REGARD_API regard_code regard_options_set_scratch(regard_options* options, void* scratch,
                                                  size_t bytes);
REGARD_API regard_code regard_options_set_cancel(regard_options* options, regard_cancel cancel,
                                                 void* user);

/* ---- Context ---- */

typedef struct regard_context regard_context;

/* A caller's own threads: run(user, workers, task, state) calls task(state, w) once for every w in
 * [0, workers), in parallel or one after another, and returns when all have ended. */
typedef void (*regard_task)(void* state, int worker);
typedef void (*regard_run)(void* user, int workers, regard_task task, void* state);

/* Threads and reusable scratch memory. threads <= 0: OMP_NUM_THREADS if set, else the CPUs this
 * process may run on. Null when there is no memory. */
REGARD_API regard_context* regard_context_new(int threads);
/* The same with a caller's threads, of which `threads` may run at once. Null run: the library's. */
REGARD_API regard_context* regard_context_new_with(regard_run run, void* user, int threads);
REGARD_API void regard_context_free(regard_context* context);
/* 0 for null. */
REGARD_API int regard_context_threads(const regard_context* context);

/* ---- Calls ---- */

/* Null options: every option off. */
REGARD_API regard_code regard_forward(const regard_context* context, const regard_inputs* inputs,
                                      const regard_outputs* outputs, const regard_options* options,
                                      regard_status* status);

/* Packed sequences: q (1, Hq, total rows, D), k and v likewise. */
REGARD_API regard_code regard_forward_varlen(const regard_context* context,
                                             const regard_inputs* inputs,
                                             const regard_sequences* sequences,
                                             const regard_outputs* outputs,
                                             const regard_options* options, regard_status* status);

/* How a call would be served: regard::Explanation in attention.h. The caller sets the first three
 * members; text may be null. */
typedef struct regard_explanation {
  size_t struct_size;
  char* text;         /* where to write the explanation in words, lines ended by newlines */
  size_t text_bytes;  /* room there; the text is cut to it and always ended by a 0 */
  size_t text_length; /* of the whole text, without the 0 */
  char isa[16];
  regard_path path;
  int32_t threads;
  int64_t rows_per_tile;
  int64_t keys_per_tile;
  int64_t keys_per_block;
  int64_t rows_per_item;
  int64_t main_items;
  int64_t weights_items;
  int64_t mass_items;
  int64_t tiles_visited;
  int64_t tiles_total;
  int64_t scratch_bytes; /* what regard_options_set_scratch has to hold */
  double passes;
  char unit[24]; /* what multiplies q and k: "fma", "dot", "tile" or "emulated tiles" */
} regard_explanation;

REGARD_API regard_code regard_explain(const regard_context* context, const regard_inputs* inputs,
                                      const regard_outputs* outputs, const regard_options* options,
                                      regard_explanation* explanation, regard_status* status);

REGARD_API regard_code regard_explain_varlen(
    const regard_context* context, const regard_inputs* inputs, const regard_sequences* sequences,
    const regard_outputs* outputs, const regard_options* options, regard_explanation* explanation,
    regard_status* status);

/* ---- Merge ---- */

/* One part's results, computed without sinks. */
typedef struct regard_part {
  regard_tensor out; /* (B, Hq, Sq, Dv), any float type */
  regard_tensor lse; /* (B, Hq, Sq, 1), f32 or f64; -infinity: an empty row */
} regard_part;

/* Puts parts of the keys together, in their order: regard::merge in merge.h. `sinks` (1, Hq, 1, 1)
 * may be null, and so may `out` or `lse`. */
REGARD_API regard_code regard_merge(const regard_part* parts, int64_t count,
                                    const regard_tensor* sinks, const regard_tensor* out,
                                    const regard_tensor* lse, regard_status* status);

/* A natural log-sum-exp in base 2, and back. */
REGARD_API double regard_lse_to_base2(double natural);
REGARD_API double regard_lse_from_base2(double base2);

/* ---- Check ---- */

/* What of a row is judged. */
typedef int32_t regard_judged;
enum { REGARD_JUDGED_OUT = 0, REGARD_JUDGED_LSE = 1, REGARD_JUDGED_WEIGHTS = 2 };

/* A judged row, at its worst place. */
typedef struct regard_row_verdict {
  int64_t b, h, i;
  int64_t d;       /* column of out or key of the weights; -1: the LSE */
  double expected; /* the oracle's value there */
  double actual;
  /* |actual - expected|; infinite where only one of them is finite, and where the LSE of an empty
   * row or the score of a hidden key is anything but -infinity */
  double error;
  double bound; /* what is allowed there */
  double units; /* error / bound; above 1 fails */
  regard_judged what;
} regard_row_verdict;

typedef struct regard_check_settings {
  size_t struct_size;
  int64_t rows; /* sampled over all batch entries and heads; 0: every row */
  uint64_t seed;
  regard_row_verdict* worst; /* where to write the worst rows, worst first; may be null */
  int64_t worst_count;       /* room there */
  regard_tensor weights;     /* judged too where its data is not null: (B, Hq, R, Skv) */
  int32_t skip_convention;   /* not 0: do not look for the convention of a result that fails */
  /* Called with rows done and rows in all; not 0 stops with REGARD_CANCELLED. May be null. */
  int (*progress)(void* user, int64_t done, int64_t total);
  void* user;
} regard_check_settings;

typedef struct regard_check_report {
  size_t struct_size;
  int32_t passed; /* 1: every row is within its bound */
  int64_t rows_checked;
  int64_t rows_failed;
  int64_t worst_count; /* rows written to settings->worst */
  double worst_units;
  double rms_error; /* over all finite elements of out that were checked */
  /* Another usual convention that a result which fails does follow, as "causal=top_left", the same
   * in words, and how many rows were tried and fit. Empty and 0 where there is none. */
  char convention[64];
  char convention_sentence[256];
  int64_t convention_rows;
} regard_check_report;

/* Judges anyone's out (B, Hq, Sq, Dv) and, where not null, lse (B, Hq, Sq, 1) row by row against
 * the f64 oracle. A result outside the bound is REGARD_OK with `passed` 0. Null settings: every
 * row. */
REGARD_API regard_code regard_check(const regard_inputs* inputs, const regard_options* options,
                                    const regard_tensor* out, const regard_tensor* lse,
                                    const regard_check_settings* settings,
                                    regard_check_report* report, regard_status* status);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(readability-identifier-naming) */

#include "regard/regard_kv.h" /* caches of keys and values */

#endif

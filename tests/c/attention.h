/* One small problem in f64, and attention of it straight from the definition, with every option:
 * the right answers that the C tests compare with. */
#ifndef REGARD_TESTS_C_ATTENTION_H
#define REGARD_TESTS_C_ATTENTION_H

#include "regard/regard.h"

enum { kB = 2, kHq = 4, kHkv = 2, kSq = 5, kSkv = 7, kD = 6, kDv = 3 };
enum { kRows = kB * kHq * kSq };

/* Scores are below 10 in size and |v| below 1.4, so the bound of docs/numerics.md for f64 is below
 * 2^-53 (30 + 21 * 10 + 6 * 10) * 1.4 = 5e-14. */
#define REGARD_ALLOWED 1e-13

typedef struct {
  double q[kB * kHq * kSq * kD];
  double k[kB * kHkv * kSkv * kD];
  double v[kB * kHkv * kSkv * kDv];
} Data;

/* What options mean; null and 0 are off, except where `default_meaning` says otherwise. */
typedef struct {
  double scale;
  double softcap;
  const double* bias;        /* kB x kHq x kSq x kSkv */
  const double* slopes;      /* kHq */
  const double* sinks;       /* kHq */
  const unsigned char* mask; /* kSq x kSkv */
  regard_causal causal;
  const int64_t* q_offset; /* kB */
  int64_t left, right;
  const int64_t* q_len;  /* kB */
  const int64_t* kv_len; /* kB */
} Meaning;

typedef struct {
  double out[kRows * kDv];
  double lse[kRows];
  double weights[kRows * kSkv];
} Answer;

void fill(Data* to);
regard_inputs views(const Data* from);
Meaning default_meaning(void);
void attend(const Data* data, const Meaning* meaning, Answer* to);

/* Views of an answer. */
regard_tensor out_view(Answer* of);
regard_tensor lse_view(Answer* of);
regard_tensor weights_view(Answer* of);

/* A new answer holds 77 everywhere. */
void spoil(Answer* to);
int untouched(const Answer* of);

#endif

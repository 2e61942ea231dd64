#include "attention.h"

#include <math.h>

static void fill_array(double* to, int seed, int heads, int rows, int columns) {
  for (int b = 0; b < kB; ++b)
    for (int h = 0; h < heads; ++h)
      for (int s = 0; s < rows; ++s)
        for (int d = 0; d < columns; ++d)
          *to++ = ((131 * b + 31 * h + 17 * s + 7 * d + 13 * seed) % 23 - 11) / 8.0;
}

void fill(Data* to) {
  fill_array(to->q, 1, kHq, kSq, kD);
  fill_array(to->k, 2, kHkv, kSkv, kD);
  fill_array(to->v, 3, kHkv, kSkv, kDv);
}

regard_inputs views(const Data* from) {
  regard_inputs inputs;
  inputs.q = regard_dense(from->q, REGARD_F64, kB, kHq, kSq, kD);
  inputs.k = regard_dense(from->k, REGARD_F64, kB, kHkv, kSkv, kD);
  inputs.v = regard_dense(from->v, REGARD_F64, kB, kHkv, kSkv, kDv);
  return inputs;
}

Meaning default_meaning(void) {
  const Meaning off = {.scale = 1 / sqrt(kD), .left = -1, .right = -1};
  return off;
}

static int64_t position(const Meaning* m, int b, int i) {
  const int64_t rows = m->q_len ? m->q_len[b] : kSq, keys = m->kv_len ? m->kv_len[b] : kSkv;
  if (m->q_offset) return i + m->q_offset[b];
  return m->causal == REGARD_CAUSAL_BOTTOM_RIGHT ? i + keys - rows : i;
}

static int visible(const Meaning* m, int b, int i, int j) {
  const int64_t at = position(m, b, i);
  if ((m->q_len && i >= m->q_len[b]) || (m->kv_len && j >= m->kv_len[b])) return 0;
  if (m->causal != REGARD_CAUSAL_NONE && j > at) return 0;
  if ((m->left >= 0 && j < at - m->left) || (m->right >= 0 && j > at + m->right)) return 0;
  return !m->mask || m->mask[i * kSkv + j];
}

static double score(const Data* x, const Meaning* m, int b, int h, int i, int j) {
  const double* q = x->q + ((b * kHq + h) * kSq + i) * kD;
  const double* k = x->k + ((b * kHkv + h * kHkv / kHq) * kSkv + j) * kD;
  double s = 0;
  for (int d = 0; d < kD; ++d) s += q[d] * k[d];
  s *= m->scale;
  if (m->softcap > 0) s = m->softcap * tanh(s / m->softcap);
  if (m->bias) s += m->bias[((b * kHq + h) * kSq + i) * kSkv + j];
  if (m->slopes) s -= m->slopes[h] * fabs((double)(position(m, b, i) - j));
  return s;
}

static void attend_row(const Data* x, const Meaning* m, const int row[3], Answer* to) {
  const int b = row[0], h = row[1], i = row[2], at = (b * kHq + h) * kSq + i;
  const int exists = !m->q_len || i < m->q_len[b];
  double* out = to->out + at * kDv;
  double* p = to->weights + at * kSkv;
  double l = m->sinks && exists ? exp(m->sinks[h]) : 0;
  for (int j = 0; j < kSkv; ++j) {
    p[j] = visible(m, b, i, j) ? exp(score(x, m, b, h, i, j)) : 0;
    l += p[j];
  }
  for (int d = 0; d < kDv; ++d) out[d] = 0;
  for (int j = 0; j < kSkv && l > 0; ++j) {
    p[j] /= l;
    for (int d = 0; d < kDv; ++d)
      out[d] += p[j] * x->v[((b * kHkv + h * kHkv / kHq) * kSkv + j) * kDv + d];
  }
  to->lse[at] = log(l);
}

void attend(const Data* data, const Meaning* meaning, Answer* to) {
  int row[3];
  for (row[0] = 0; row[0] < kB; ++row[0])
    for (row[1] = 0; row[1] < kHq; ++row[1])
      for (row[2] = 0; row[2] < kSq; ++row[2]) attend_row(data, meaning, row, to);
}

regard_tensor out_view(Answer* of) {
  return regard_dense(of->out, REGARD_F64, kB, kHq, kSq, kDv);
}
regard_tensor lse_view(Answer* of) {
  return regard_dense(of->lse, REGARD_F64, kB, kHq, kSq, 1);
}
regard_tensor weights_view(Answer* of) {
  return regard_dense(of->weights, REGARD_F64, kB, kHq, kSq, kSkv);
}

void spoil(Answer* to) {
  double* numbers = (double*)to;
  for (size_t n = 0; n < sizeof *to / sizeof *numbers; ++n) numbers[n] = 77;
}

int untouched(const Answer* of) {
  const double* numbers = (const double*)of;
  for (size_t n = 0; n < sizeof *of / sizeof *numbers; ++n)
    if (numbers[n] != 77) return 0;
  return 1;
}

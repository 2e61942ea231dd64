/* One call from C: causal attention of two heads over four tokens, with the log-sum-exp of each
 * row. The numbers are those of examples/cpp/attention.cpp. */
#include <regard/regard.h>
#include <stdio.h>

int main(void) {
  float q[24], k[24], v[24], out[24], lse[8];
  for (int n = 0; n < 24; ++n) {
    q[n] = 0.5F * (float)(n % 5);
    k[n] = 0.5F * (float)(n % 7);
    v[n] = (float)n;
  }
  /* Batch, heads, tokens, head size. */
  const regard_inputs inputs = {.q = regard_dense(q, REGARD_F32, 1, 2, 4, 3),
                                .k = regard_dense(k, REGARD_F32, 1, 2, 4, 3),
                                .v = regard_dense(v, REGARD_F32, 1, 2, 4, 3)};
  const regard_outputs outputs = {.struct_size = sizeof outputs,
                                  .out = regard_dense(out, REGARD_F32, 1, 2, 4, 3),
                                  .lse = regard_dense(lse, REGARD_F32, 1, 2, 4, 1)};
  regard_context* context = regard_context_new(0);
  regard_options* options = regard_options_new();
  regard_options_set_causal(options, REGARD_CAUSAL_TOP_LEFT);
  regard_status status;
  if (regard_forward(context, &inputs, &outputs, options, &status) != REGARD_OK) {
    fprintf(stderr, "%s: %s\n", regard_code_name(status.code), status.message);
    return 2;
  }
  regard_options_free(options);
  regard_context_free(context);
  for (int row = 0; row < 8; ++row) {
    const float* o = out + 3 * row;
    printf("head %d token %d: out %7.4f %7.4f %7.4f  lse %.4f\n", row / 4, row % 4, o[0], o[1],
           o[2], lse[row]);
  }
  return 0;
}

/* What a user of the installed library writes in C: equal scores give the mean of v. */
#include <regard/regard.h>
#include <stdio.h>

int main(void) {
  const float q[] = {1, 0};
  const float k[] = {0, 1, 0, 2};
  const float v[] = {1, 2, 3, 4};
  float out[2];
  const regard_inputs inputs = {.q = regard_dense(q, REGARD_F32, 1, 1, 1, 2),
                                .k = regard_dense(k, REGARD_F32, 1, 1, 2, 2),
                                .v = regard_dense(v, REGARD_F32, 1, 1, 2, 2)};
  const regard_outputs outputs = {.struct_size = sizeof outputs,
                                  .out = regard_dense(out, REGARD_F32, 1, 1, 1, 2)};
  regard_context* context = regard_context_new(0);
  regard_status status;
  if (regard_forward(context, &inputs, &outputs, NULL, &status) != REGARD_OK) {
    fprintf(stderr, "%s\n", status.message);
    return 1;
  }
  regard_context_free(context);
  printf("regard %s: %g %g\n", regard_version(), out[0], out[1]);
  return 0;
}

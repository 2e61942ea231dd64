// What a user of the installed library writes: equal scores, so the answer is the mean of v.
#include <cstdio>

#include "regard/attention.h"
#include "regard/version.h"

int main() {
  const float q[] = {1, 0};
  const float k[] = {0, 1, 0, 2};
  const float v[] = {1, 2, 3, 4};
  float out[2] = {};
  regard::Outputs outputs;
  outputs.out = regard::view(out, {1, 1, 1, 2});
  const regard::Context context;
  const regard::Status status =
      regard::forward(context, regard::view(q, {1, 1, 1, 2}), regard::view(k, {1, 1, 2, 2}),
                      regard::view(v, {1, 1, 2, 2}), outputs);
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.message().c_str());
    return 1;
  }
  std::printf("regard %s: %g %g\n", regard::kVersion, out[0], out[1]);
}

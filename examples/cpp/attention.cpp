// One call: causal attention of two heads over four tokens, with the log-sum-exp of each row.
#include <regard/attention.h>

#include <cstdio>
#include <vector>

int main() {
  const regard::Shape shape = {1, 2, 4, 3};  // batch, heads, tokens, head size
  std::vector<float> q(24), k(24), v(24), out(24), lse(8);
  for (std::size_t n = 0; n < q.size(); ++n) {
    q[n] = 0.5F * static_cast<float>(n % 5);
    k[n] = 0.5F * static_cast<float>(n % 7);
    v[n] = static_cast<float>(n);
  }
  regard::Options options;
  options.causal = regard::Causal::top_left;
  regard::Outputs outputs;
  outputs.out = regard::view(out.data(), shape);
  outputs.lse = regard::view(lse.data(), {1, 2, 4, 1});
  const regard::Context context;
  const regard::Status status =
      regard::forward(context, regard::view(q.data(), shape), regard::view(k.data(), shape),
                      regard::view(v.data(), shape), outputs, options);
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.message().c_str());
    return 2;
  }
  for (std::size_t row = 0; row < lse.size(); ++row) {
    const float* o = out.data() + 3 * row;
    std::printf("head %zu token %zu: out %7.4f %7.4f %7.4f  lse %.4f\n", row / 4, row % 4,
                double(o[0]), double(o[1]), double(o[2]), double(lse[row]));
  }
}

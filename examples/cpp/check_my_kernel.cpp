// Is my kernel right? Judge its result row by row with the oracle. Given any argument, the kernel
// forgets 1/sqrt(D), and the check says where it shows.
#include <regard/check.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

namespace {

constexpr std::int64_t kTokens = 50, kHeadDim = 16;

/// Attention of one head as one would first write it, in f32.
void my_kernel(const float* q, const float* k, const float* v, float scale, float* out) {
  std::vector<float> p(kTokens);
  for (std::int64_t i = 0; i < kTokens; ++i) {
    for (std::int64_t j = 0; j < kTokens; ++j) {
      p[j] = 0;
      for (std::int64_t d = 0; d < kHeadDim; ++d) p[j] += q[i * kHeadDim + d] * k[j * kHeadDim + d];
      p[j] *= scale;
    }
    const float m = *std::max_element(p.begin(), p.end());
    float l = 0;
    for (float& x : p) l += x = std::exp(x - m);
    for (std::int64_t d = 0; d < kHeadDim; ++d) {
      float o = 0;
      for (std::int64_t j = 0; j < kTokens; ++j) o += p[j] * v[j * kHeadDim + d];
      out[i * kHeadDim + d] = o / l;
    }
  }
}

}  // namespace

int main(int argc, char**) {
  const regard::Shape shape = {1, 1, kTokens, kHeadDim};
  std::vector<float> q(kTokens * kHeadDim), k(q), v(q), out(q);
  std::mt19937 engine(1);
  std::normal_distribution<float> normal;
  for (auto* values : {&q, &k, &v})
    for (float& x : *values) x = normal(engine);
  my_kernel(q.data(), k.data(), v.data(), argc > 1 ? 1.0F : 0.25F, out.data());

  regard::CheckReport report;
  const regard::Status status = regard::check(
      regard::view(q.data(), shape), regard::view(k.data(), shape), regard::view(v.data(), shape),
      {}, regard::view(out.data(), shape), {}, {}, report);
  if (!status.ok() || report.worst.empty()) {
    std::fprintf(stderr, "%s\n", status.message().c_str());
    return 2;
  }
  const regard::RowVerdict& worst = report.worst.front();
  std::printf("%s: %lld of %lld rows are outside the bound\n", report.passed ? "right" : "wrong",
              static_cast<long long>(report.rows_failed),
              static_cast<long long>(report.rows_checked));
  std::printf("worst: row %lld column %lld is %.8g, should be %.8g (%.2g of its bound)\n",
              static_cast<long long>(worst.i), static_cast<long long>(worst.d), worst.actual,
              worst.expected, worst.units);
  return report.passed ? 0 : 1;
}

// Calls on path tiles, whatever unit multiplies there, and their rms error next to a plain
// implementation that rounds its weights to bf16 as tiles do.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/engine.h"
#include "support/plain.h"

namespace regard::test {

/// Sanitizers find nothing in a plain implementation, and make minutes of it: rms errors are for
/// optimised builds.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

inline Options on_tiles(Options options = {}) {
  options.path = Path::tiles;
  return options;
}

inline Options on_tiles(Causal causal) {
  Options options;
  options.causal = causal;
  return on_tiles(options);
}

/// The result in f32, so that rounding it hides nothing.
inline Result<BF16, float> run_tiles(const Inputs<BF16>& in, const Options& options = {},
                                     Layout layout = Layout::bhsd) {
  return run_forward<BF16, float>(in, on_tiles(options), one_thread(), layout);
}

inline testing::AssertionResult tiles_hold(const Inputs<BF16>& in, const Options& options = {}) {
  return matches_oracle(in, on_tiles(options), run_tiles(in, options));
}

/// Sums of squares over all elements of out.
struct Distances {
  double ours = 0, plain = 0;
  double size = 0;  ///< of the exact answer
};

/// How far `out` and the plain implementation are from the exact answer.
inline Distances distances(const Inputs<BF16>& in, const Options& options,
                           const TestTensor<float>& out) {
  const auto wide = in.copy<double>();
  const auto single = in.copy<float>();
  const std::int64_t dv = out.shape()[3];
  const std::int64_t group = out.shape()[1] / in.k.shape()[1];
  Distances sums;
  std::vector<double> p;
  std::vector<float> rounded;
  for_each_index(
      {out.shape()[0], out.shape()[1], out.shape()[2], 1}, [&](auto b, auto h, auto i, auto) {
        plain_weights<double>(wide, options, b, h, i, p);
        plain_weights<float>(single, options, b, h, i, rounded);
        for (float& x : rounded) x = to_float(to_bf16(x));
        for (std::int64_t d = 0; d < dv; ++d) {
          double exact = 0;
          float plain = 0;
          for (std::size_t j = 0; j < p.size(); ++j) {
            const float v = single.v.at(b, h / group, std::int64_t(j), d);
            exact += p[j] * double(v);
            plain = std::fma(rounded[j], v, plain);
          }
          const double ours = double(out.at(b, h, i, d)) - exact, theirs = double(plain) - exact;
          sums.ours += ours * ours;
          sums.plain += theirs * theirs;
          sums.size += exact * exact;
        }
      });
  return sums;
}

/// At most twice the rms error of the plain implementation, and a few roundings of f32, which are
/// all where that one is exact.
inline testing::AssertionResult as_good_as_plain(const Inputs<BF16>& in, const Options& options,
                                                 const TestTensor<float>& out) {
  if (kSanitized) return testing::AssertionSuccess();
  const Distances sums = distances(in, options, out);
  const double ours = std::sqrt(sums.ours), plain = std::sqrt(sums.plain);
  if (ours <= 2 * plain + 0x1p-21 * std::sqrt(sums.size)) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "rms error " << ours / plain << " times the plain one";
}

}  // namespace regard::test

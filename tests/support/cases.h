// The conformance cases (tests/cases/conformance.json): small problems with right answers, under
// the option names of every face of the library.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "regard/options.h"
#include "support/test_tensor.h"

namespace regard::test {

struct Case {
  std::string name;
  std::string why;
  TestTensor<double> q, k, v;

  std::optional<double> scale;
  double softcap = 0;
  Causal causal = Causal::none;
  Window window;
  std::vector<std::int64_t> q_offset, q_len, kv_len;
  std::optional<TestTensor<double>> bias, alibi_slopes, sinks;
  std::vector<unsigned char> mask;
  Shape mask_shape{};

  /// Right answers; absent where the case gives none. lse is (B, Hq, Sq, 1).
  std::optional<TestTensor<double>> out, lse, weights;

  /// Valid as long as the case.
  Options options() const {
    Options options;
    options.scale = scale;
    options.softcap = softcap;
    if (bias) options.bias = bias->view();
    if (alibi_slopes) options.alibi_slopes = alibi_slopes->view();
    if (sinks) options.sinks = sinks->view();
    if (!mask.empty())
      options.mask = {mask.data(), DType::boolean, mask_shape, dense_strides(mask_shape)};
    options.causal = causal;
    options.q_offset = q_offset;
    options.window = window;
    options.q_len = q_len;
    options.kv_len = kv_len;
    return options;
  }
};

/// Throws where the file cannot be read or says something that no case may say.
std::vector<Case> load_cases();

}  // namespace regard::test

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
  Causal causal = Causal::none;
  std::vector<std::int64_t> q_offset;
  /// Options of the case that this version does not serve; `options` leaves them out.
  std::vector<std::string> unserved;

  /// Right answers; absent where the case gives none. lse is (B, Hq, Sq, 1).
  std::optional<TestTensor<double>> out, lse, weights;

  bool served() const { return unserved.empty(); }
  /// Valid as long as the case.
  Options options() const {
    Options options;
    options.scale = scale;
    options.causal = causal;
    options.q_offset = q_offset;
    return options;
  }
};

/// Throws where the file cannot be read or says something that no case may say.
std::vector<Case> load_cases();

}  // namespace regard::test

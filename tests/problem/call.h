// A small sound call of `forward` that a test bends, and the check that a refusal is one sentence
// which names what is wrong while every output stays as it was.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "regard/attention.h"
#include "support/inputs.h"

namespace regard::test {

/// B=2, Hq=4, Hkv=2, Sq=5, Skv=6, D=7, Dv=3 in f32, all outputs asked for. Tests change the views
/// and options; the memory behind them stays.
struct Call {
  static constexpr ProblemShape kShape{2, 2, 2, 5, 6, 7, 3};

  Inputs<float> in = random_inputs<float>(kShape, 1);
  TestTensor<float> out_memory{kShape.out()}, lse_memory{kShape.lse()},
      weights_memory{kShape.weights()};
  ConstTensor q = in.q.view(), k = in.k.view(), v = in.v.view();
  Outputs outputs{out_memory.tensor(), lse_memory.tensor(), weights_memory.tensor()};
  Options options;
  /// What spans in `options` point at.
  std::vector<std::int64_t> numbers;

  Call() = default;
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  Status run() const {
    const Context context(1);
    return forward(context, q, k, v, outputs, options);
  }

  std::int64_t written() const {
    std::int64_t count = 0;
    for (const auto* memory : {&out_memory, &lse_memory, &weights_memory})
      count += element_count(memory->shape()) - memory->unwritten() + !memory->canaries_intact();
    return count;
  }
};

/// One way to spoil a call, and what the refusal must say.
struct Refusal {
  const char* name;
  void (*spoil)(Call&);
  StatusCode code;
  /// The argument at fault comes first; the rest, the two values that disagree, come anywhere.
  const char* argument;
  std::vector<const char*> words;
};

inline std::ostream& operator<<(std::ostream& stream, const Refusal& refusal) {
  return stream << refusal.name;
}

inline void expect_refused(const Refusal& refusal) {
  Call call;
  refusal.spoil(call);
  const Status status = call.run();
  EXPECT_EQ(status.code(), refusal.code) << status.message();
  EXPECT_EQ(status.message().rfind(std::string(refusal.argument) + ": ", 0), 0U)
      << status.message();
  EXPECT_EQ(status.message().find('\n'), std::string::npos) << status.message();
  for (const char* word : refusal.words)
    EXPECT_NE(status.message().find(word), std::string::npos)
        << "no '" << word << "' in: " << status.message();
  EXPECT_EQ(call.written(), 0) << "elements written in spite of an error";
}

inline std::string refusal_name(const testing::TestParamInfo<Refusal>& info) {
  return info.param.name;
}

}  // namespace regard::test

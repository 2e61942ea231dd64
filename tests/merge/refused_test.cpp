// What a merge refuses, in which words, and that it then writes nothing.
#include <string>

#include "merge/parts.h"

namespace regard::test {
namespace {

/// Two parts of 2 x 3 x 4 rows and 5 columns that a test bends.
struct MergeCall {
  Parts<float> memory{2, {2, 3, 4, 5}, 1};
  std::vector<Part> parts = memory.parts();
  TestTensor<float> out_memory{{2, 3, 4, 5}}, lse_memory{{2, 3, 4, 1}};
  float sinks_memory[3] = {0, 1, 2};
  ConstTensor sinks = view_per_head(sinks_memory, 3);
  Tensor out = out_memory.tensor(), lse = lse_memory.tensor();
};

struct Refusal {
  const char* name;
  void (*spoil)(MergeCall&);
  const char* sentence;
};

std::ostream& operator<<(std::ostream& stream, const Refusal& refusal) {
  return stream << refusal.name;
}

class RefusedMerge : public testing::TestWithParam<Refusal> {};

TEST_P(RefusedMerge, SaysWhyAndWritesNothing) {
  MergeCall call;
  GetParam().spoil(call);
  const Status status = merge(call.parts, call.sinks, call.out, call.lse);
  EXPECT_EQ(status.code(), StatusCode::invalid_argument);
  EXPECT_EQ(status.message(), GetParam().sentence);
  EXPECT_EQ(call.out_memory.unwritten(), 120);
  EXPECT_EQ(call.lse_memory.unwritten(), 24);
  const Parts<float> fresh(2, {2, 3, 4, 5}, 1);
  for (std::size_t n = 0; n < 2; ++n) {
    EXPECT_TRUE(call.memory.out[n].same_bits(fresh.out[n]));
    EXPECT_TRUE(call.memory.lse[n].same_bits(fresh.lse[n]));
  }
}

const Refusal kRefusals[] = {
    {"NoParts", [](MergeCall& c) { c.parts.clear(); },
     "parts: 0 of them are given, at least 1 is needed"},
    {"LseOfAnotherShape", [](MergeCall& c) { c.parts[1].lse.shape[2] = 3; },
     "parts[1].lse: shape (2, 3, 3, 1) differs from (2, 3, 4, 1)"},
    {"LseOfSeveralColumns", [](MergeCall& c) { c.parts[0].lse.shape[3] = 2; },
     "parts[0].lse: shape (2, 3, 4, 2) differs from (2, 3, 4, 1)"},
    {"OutOfAnotherShape", [](MergeCall& c) { c.parts[0].out.shape[3] = 4; },
     "parts[0].out: shape (2, 3, 4, 4) differs from (2, 3, 4, 5)"},
    {"ResultOfAnotherShape", [](MergeCall& c) { c.lse.shape[1] = 2; },
     "lse: shape (2, 2, 4, 1) differs from (2, 3, 4, 1)"},
    {"SinksOfAnotherCount", [](MergeCall& c) { c.sinks.shape[1] = 2; },
     "sinks: shape (1, 2, 1, 1) differs from (1, 3, 1, 1)"},
    {"HalfLse", [](MergeCall& c) { c.parts[0].lse.dtype = DType::f16; },
     "parts[0].lse: dtype f16 is neither f32 nor f64"},
    {"HalfResultLse", [](MergeCall& c) { c.lse.dtype = DType::bf16; },
     "lse: dtype bf16 is neither f32 nor f64"},
    {"Numbers", [](MergeCall& c) { c.out.dtype = DType::i64; },
     "out: dtype i64 is none of f64, f32, f16 and bf16"},
    {"NoType", [](MergeCall& c) { c.sinks.dtype = DType(99); },
     "sinks: dtype unknown is none of f64, f32, f16 and bf16"},
    {"MissingPart", [](MergeCall& c) { c.parts[1].out.data = nullptr; },
     "parts[1].out: data is null but its shape is (2, 3, 4, 5)"},
    {"OddAddress", [](MergeCall& c) { c.out.data = reinterpret_cast<std::byte*>(c.out.data) + 2; },
     "out: its address is 2 bytes past a multiple of its element, 4 bytes"},
    {"SelfOverlap", [](MergeCall& c) { c.out.strides[1] = 0; },
     "out: strides (60, 0, 5, 1) make shape (2, 3, 4, 5) overlap itself"},
    {"ReversedPart",
     [](MergeCall& c) {
       c.out = c.memory.out[0].tensor();
       c.out.data = static_cast<float*>(c.out.data) + 4;
       c.out.strides[3] = -1;
     },
     "out: its memory overlaps that of parts[0].out"},
    {"PartBehindAPart",
     [](MergeCall& c) {
       c.out = c.memory.out[0].tensor();
       c.parts[1].out = c.parts[0].out;
       c.parts[1].out.strides[3] = 0;
     },
     "out: its memory overlaps that of parts[1].out"},
    {"LseOverAnOut",
     [](MergeCall& c) {
       c.lse = c.memory.out[1].tensor();
       c.lse.shape[3] = 1;
     },
     "lse: its memory overlaps that of parts[1].out"},
    {"ResultsOverEachOther",
     [](MergeCall& c) {
       c.lse = c.out;
       c.lse.shape[3] = 1;
     },
     "lse: its memory overlaps that of out"},
    {"OutOverSinks", [](MergeCall& c) { c.sinks.data = c.out.data; },
     "out: its memory overlaps that of sinks"},
};

std::string refusal_name(const testing::TestParamInfo<Refusal>& tested) {
  return tested.param.name;
}
INSTANTIATE_TEST_SUITE_P(All, RefusedMerge, testing::ValuesIn(kRefusals), refusal_name);

TEST(AcceptedMerge, OfNoRowsNeedsNoMemory) {
  const ConstTensor none{nullptr, DType::f32, {2, 3, 0, 5}, {}};
  ConstTensor lse = none;
  lse.shape[3] = 1;
  float out = 7;
  const Part parts[] = {{none, lse}};
  const Status status = merge(parts, {}, view(&out, {2, 3, 0, 5}), {});
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(out, 7);
}

}  // namespace
}  // namespace regard::test

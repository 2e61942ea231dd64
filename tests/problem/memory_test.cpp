// Pointers that are missing, askew, or of outputs that share memory with something else.
#include "problem/call.h"

namespace regard::test {
namespace {

constexpr StatusCode kInvalid = StatusCode::invalid_argument;

class BadMemory : public testing::TestWithParam<Refusal> {};

TEST_P(BadMemory, IsRefused) {
  expect_refused(GetParam());
}

const Refusal kPointers[] = {
    {"NoQ", [](Call& call) { call.q.data = nullptr; }, kInvalid, "q", {"null", "(2, 4, 5, 7)"}},
    {"NoK", [](Call& call) { call.k.data = nullptr; }, kInvalid, "k", {"null", "(2, 2, 6, 7)"}},
    {"NoV", [](Call& call) { call.v.data = nullptr; }, kInvalid, "v", {"null", "(2, 2, 6, 3)"}},
    {"AskewQ",
     [](Call& call) { call.q.data = static_cast<const std::byte*>(call.q.data) + 1; },
     kInvalid,
     "q",
     {"1 bytes past", "4 bytes"}},
    {"AskewV",
     [](Call& call) { call.v.data = static_cast<const std::byte*>(call.v.data) + 2; },
     kInvalid,
     "v",
     {"2 bytes past", "4 bytes"}},
    {"AskewOut",
     [](Call& call) { call.outputs.out.data = static_cast<std::byte*>(call.outputs.out.data) + 3; },
     kInvalid,
     "out",
     {"3 bytes past", "4 bytes"}},
    {"AskewLse",
     [](Call& call) { call.outputs.lse.data = static_cast<std::byte*>(call.outputs.lse.data) + 1; },
     kInvalid,
     "lse",
     {"1 bytes past", "4 bytes"}},
};
INSTANTIATE_TEST_SUITE_P(Pointers, BadMemory, testing::ValuesIn(kPointers), refusal_name);

/// Element `index` of a tensor's memory, counted from its first.
float* element(TestTensor<float>& tensor, std::int64_t index) {
  return tensor.data() + index;
}

const Refusal kShared[] = {
    {"OutInQ",
     [](Call& call) { call.outputs.out.data = call.in.q.data(); },
     kInvalid,
     "out",
     {"that of q"}},
    {"OutInK",
     [](Call& call) { call.outputs.out.data = call.in.k.data(); },
     kInvalid,
     "out",
     {"that of k"}},
    {"LseInOut",
     [](Call& call) { call.outputs.lse.data = call.out_memory.data(); },
     kInvalid,
     "lse",
     {"that of out"}},
    {"WeightsInOut",
     [](Call& call) { call.outputs.weights.data = call.out_memory.data(); },
     kInvalid,
     "weights",
     {"that of out"}},
    {"WeightsInLse",
     [](Call& call) { call.outputs.weights.data = call.lse_memory.data(); },
     kInvalid,
     "weights",
     {"that of lse"}},
    {"OutWithoutRowStride",
     [](Call& call) { call.outputs.out.strides[2] = 0; },
     kInvalid,
     "out",
     {"(60, 15, 0, 1)", "(2, 4, 5, 3)"}},
    {"OutWithCloseRows",
     [](Call& call) { call.outputs.out.strides[2] = 2; },
     kInvalid,
     "out",
     {"(60, 15, 2, 1)", "(2, 4, 5, 3)"}},
    {"LseWithOneEntryForAllHeads",
     [](Call& call) { call.outputs.lse.strides[1] = 0; },
     kInvalid,
     "lse",
     {"overlap itself"}},
    {"WeightsRunningBackwardsIntoThemselves",
     [](Call& call) {
       call.outputs.weights.data = element(call.weights_memory, 100);
       call.outputs.weights.strides[2] = -5;
     },
     kInvalid,
     "weights",
     {"overlap itself"}},
};
INSTANTIATE_TEST_SUITE_P(Shared, BadMemory, testing::ValuesIn(kShared), refusal_name);

/// out placed so that `shared` of its elements are also elements of v, at v's start or end.
Status run_beside_v(std::int64_t shared, bool at_the_start) {
  Call call;
  const std::int64_t out_count = element_count(Call::kShape.out());
  const std::int64_t v_count = element_count(Call::kShape.v());
  std::vector<float> arena(std::size_t(2 * out_count + v_count));
  call.v.data = arena.data() + out_count;
  call.outputs = {};
  call.outputs.out = view(arena.data() + (at_the_start ? shared : out_count + v_count - shared),
                          Call::kShape.out());
  return call.run();
}

TEST(Memory, NeighboursMayTouch) {
  EXPECT_TRUE(run_beside_v(0, true).ok());
  EXPECT_TRUE(run_beside_v(0, false).ok());
}

TEST(Memory, OneSharedElementIsRefused) {
  for (const bool at_the_start : {true, false}) {
    const Status status = run_beside_v(1, at_the_start);
    EXPECT_EQ(status.code(), kInvalid);
    EXPECT_EQ(status.message(), "out: its memory overlaps that of v");
  }
}

TEST(Memory, ScratchOfNoBytesIsNotGiven) {
  Call call;
  alignas(64) std::byte untouched[64] = {};
  call.options.scratch = {untouched, 0};
  const Status status = call.run();
  EXPECT_TRUE(status.ok()) << status.message();
  for (const std::byte byte : untouched) ASSERT_EQ(byte, std::byte{0});
}

TEST(Memory, AskewByHalfAnElement) {
  const auto in = random_inputs<double>({1, 1, 1, 2, 2, 2, 2}, 1);
  TestTensor<double> out({1, 1, 2, 2});
  ConstTensor q = in.q.view();
  q.data = static_cast<const std::byte*>(q.data) + 4;
  const Status status = forward(Context(1), q, in.k.view(), in.v.view(),
                                {.out = out.tensor(), .lse = {}, .weights = {}});
  EXPECT_EQ(status.code(), kInvalid);
  EXPECT_NE(status.message().find("4 bytes past"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("8 bytes"), std::string::npos) << status.message();
  EXPECT_EQ(out.unwritten(), 4);
}

}  // namespace
}  // namespace regard::test

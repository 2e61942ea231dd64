// Options out of their range, and options of the conventions that this version does not serve.
#include <cmath>
#include <limits>

#include "problem/call.h"

namespace regard::test {
namespace {

constexpr StatusCode kInvalid = StatusCode::invalid_argument;
constexpr StatusCode kUnsupported = StatusCode::unsupported;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

class BadOptions : public testing::TestWithParam<Refusal> {};

TEST_P(BadOptions, AreRefused) {
  expect_refused(GetParam());
}

template <std::int64_t kRow>
void add_row(Call& call) {
  call.numbers = {0, kRow};
  call.options.rows = call.numbers;
}

const Refusal kRanges[] = {
    {"ScaleNan", [](Call& call) { call.options.scale = NAN; }, kInvalid, "scale", {"nan", "3.4"}},
    {"ScaleInfinite",
     [](Call& call) { call.options.scale = -kInfinity; },
     kInvalid,
     "scale",
     {"-inf", "3.4"}},
    {"ScalePastF32",
     [](Call& call) { call.options.scale = 1e39; },
     kInvalid,
     "scale",
     {"1e+39", "3.4", "f32"}},
    {"Threads", [](Call& call) { call.options.threads = -1; }, kInvalid, "threads", {"-1", "0"}},
    {"ManyOffsets",
     [](Call& call) {
       call.numbers = {0, 1, 2};
       call.options.q_offset = call.numbers;
     },
     kInvalid,
     "q_offset",
     {"3 numbers", "batch of 2"}},
    {"NegativeRow", add_row<-1>, kInvalid, "rows", {"-1", "5"}},
    {"RowPastTheEnd", add_row<5>, kInvalid, "rows", {"row 5", "[0, 5)"}},
    {"RowFarPastTheEnd", add_row<INT64_MAX>, kInvalid, "rows", {"9223372036854775807", "[0, 5)"}},
    {"WindowLeft",
     [](Call& call) { call.options.window.left = -2; },
     kInvalid,
     "window",
     {"-2", "-1"}},
    {"WindowRight",
     [](Call& call) { call.options.window.right = -3; },
     kInvalid,
     "window",
     {"-3", "-1"}},
    {"WindowRightBesideASoundLeft",
     [](Call& call) {
       call.options.window = {3, -2};
     },
     kInvalid,
     "window",
     {"-2", "-1"}},
    {"SoftcapNegative",
     [](Call& call) { call.options.softcap = -1; },
     kInvalid,
     "softcap",
     {"-1", "0"}},
    {"ScaleFlushedToZero",
     [](Call& call) { call.options.scale = 1e-40; },
     kInvalid,
     "scale",
     {"1e-40", "1.17549e-38"}},
    {"CausalUnknown",
     [](Call& call) { call.options.causal = Causal(9); },
     kInvalid,
     "causal",
     {"9", "2"}},
    {"PathUnknown", [](Call& call) { call.options.path = Path(9); }, kInvalid, "path", {"9", "3"}},
    {"StageUnknown",
     [](Call& call) { call.options.weights_stage = Stage(9); },
     kInvalid,
     "weights_stage",
     {"9", "3"}},
    {"SoftcapWithoutInverse",
     [](Call& call) { call.options.softcap = 1e38; },
     kInvalid,
     "softcap",
     {"1e+38", "8.5", "f32"}},
    {"SoftcapNan", [](Call& call) { call.options.softcap = NAN; }, kInvalid, "softcap", {"nan"}},
};
INSTANTIATE_TEST_SUITE_P(Range, BadOptions, testing::ValuesIn(kRanges), refusal_name);

template <std::int64_t kFirst, std::int64_t kSecond, auto kMember>
void set_lengths(Call& call) {
  call.numbers = {kFirst, kSecond};
  call.options.*kMember = call.numbers;
}

const Refusal kLengths[] = {
    {"QLenTooLong", set_lengths<5, 6, &Options::q_len>, kInvalid, "q_len", {"6", "[0, 5]"}},
    {"QLenNegative", set_lengths<-1, 5, &Options::q_len>, kInvalid, "q_len", {"-1", "[0, 5]"}},
    {"KvLenTooLong", set_lengths<6, 7, &Options::kv_len>, kInvalid, "kv_len", {"7", "[0, 6]"}},
    {"OneLength",
     [](Call& call) {
       call.numbers = {6};
       call.options.kv_len = call.numbers;
     },
     kInvalid,
     "kv_len",
     {"1 numbers", "batch of 2"}},
};
INSTANTIATE_TEST_SUITE_P(Lengths, BadOptions, testing::ValuesIn(kLengths), refusal_name);

const bool kTrue = true;
const float kOne = 1;

const Refusal kTensors[] = {
    {"MaskOfFloats",
     [](Call& call) {
       call.options.mask = view(&kOne, {1, 1, 1, 1});
     },
     kInvalid,
     "mask",
     {"f32", "bool"}},
    {"MaskOfOtherHeads",
     [](Call& call) {
       call.options.mask = view(&kTrue, {1, 3, 1, 1});
     },
     kInvalid,
     "mask",
     {"axis 1", "(1, 3, 1, 1)", "(2, 4, 5, 6)"}},
    {"MaskOfOtherKeys",
     [](Call& call) {
       call.options.mask = view(&kTrue, {2, 1, 5, 7});
     },
     kInvalid,
     "mask",
     {"axis 3", "(2, 1, 5, 7)", "(2, 4, 5, 6)"}},
    {"BiasOfAnotherHalf",
     [](Call& call) {
       call.options.bias = view(&kOne, {1, 1, 1, 1});
       call.options.bias.dtype = DType::f16;
     },
     kInvalid,
     "bias",
     {"f16", "f32"}},
    {"BiasOfOtherRows",
     [](Call& call) {
       call.options.bias = view(&kOne, {1, 4, 4, 6});
     },
     kInvalid,
     "bias",
     {"axis 2", "(1, 4, 4, 6)", "(2, 4, 5, 6)"}},
    {"SlopesOfOtherHeads",
     [](Call& call) { call.options.alibi_slopes = view_per_head(&kOne, 2); },
     kInvalid,
     "alibi_slopes",
     {"axis 1", "(1, 2, 1, 1)", "(2, 4, 1, 1)"}},
    {"SinksOfABatch",
     [](Call& call) {
       call.options.sinks = view(&kOne, {2, 4, 1, 1});
     },
     kInvalid,
     "sinks",
     {"axis 0", "(2, 4, 1, 1)", "(1, 4, 1, 1)"}},
    {"ScratchTooSmall",
     [](Call& call) {
       alignas(64) static std::byte memory[64];
       call.options.scratch = memory;
     },
     kInvalid,
     "scratch",
     {"64 bytes"}},
};
INSTANTIATE_TEST_SUITE_P(Tensors, BadOptions, testing::ValuesIn(kTensors), refusal_name);

const Refusal kUnserved[] = {
    {"Tiles",
     [](Call& call) { call.options.path = Path::tiles; },
     kUnsupported,
     "path",
     {"tiles", "bf16", "f32"}},
    {"TilesOfF16",
     [](Call& call) {
       for (ConstTensor* tensor : {&call.q, &call.k, &call.v}) tensor->dtype = DType::f16;
       call.options.path = Path::tiles;
     },
     kUnsupported,
     "path",
     {"tiles", "bf16", "f16"}},
    {"TilesOfPreciseWeights",
     [](Call& call) {
       for (ConstTensor* tensor : {&call.q, &call.k, &call.v}) tensor->dtype = DType::bf16;
       call.options.precision = Precision::high;
       call.options.path = Path::tiles;
     },
     kInvalid,
     "path",
     {"tiles", "precision high"}},
};
INSTANTIATE_TEST_SUITE_P(Unserved, BadOptions, testing::ValuesIn(kUnserved), refusal_name);

}  // namespace
}  // namespace regard::test

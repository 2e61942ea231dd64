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
    {"SoftcapNan", [](Call& call) { call.options.softcap = NAN; }, kInvalid, "softcap", {"nan"}},
};
INSTANTIATE_TEST_SUITE_P(Range, BadOptions, testing::ValuesIn(kRanges), refusal_name);

const Refusal kUnserved[] = {
    {"WindowLeft", [](Call& call) { call.options.window.left = 0; }, kUnsupported, "window", {}},
    {"WindowRight", [](Call& call) { call.options.window.right = 2; }, kUnsupported, "window", {}},
    {"LastKeys",
     [](Call& call) { call.options.window = last_n_keys(3); },
     kUnsupported,
     "window",
     {}},
    {"Softcap", [](Call& call) { call.options.softcap = 30; }, kUnsupported, "softcap", {}},
    {"Mask", [](Call& call) { call.options.mask = call.in.k.view(); }, kUnsupported, "mask", {}},
    {"Bias", [](Call& call) { call.options.bias = call.in.k.view(); }, kUnsupported, "bias", {}},
    {"AlibiSlopes",
     [](Call& call) { call.options.alibi_slopes = call.in.k.view(); },
     kUnsupported,
     "alibi_slopes",
     {}},
    {"Sinks", [](Call& call) { call.options.sinks = call.in.k.view(); }, kUnsupported, "sinks", {}},
    {"QLen",
     [](Call& call) {
       call.numbers = {5, 5};
       call.options.q_len = call.numbers;
     },
     kUnsupported,
     "q_len",
     {}},
    {"KvLen",
     [](Call& call) {
       call.numbers = {6, 6};
       call.options.kv_len = call.numbers;
     },
     kUnsupported,
     "kv_len",
     {}},
    {"Tiles", [](Call& call) { call.options.path = Path::tiles; }, kUnsupported, "path", {"tiles"}},
    {"Decode",
     [](Call& call) { call.options.path = Path::decode; },
     kUnsupported,
     "path",
     {"decode"}},
};
INSTANTIATE_TEST_SUITE_P(Unserved, BadOptions, testing::ValuesIn(kUnserved), refusal_name);

}  // namespace
}  // namespace regard::test

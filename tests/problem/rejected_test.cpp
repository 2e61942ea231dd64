// Shapes and element types that disagree.
#include "problem/call.h"

namespace regard::test {
namespace {

constexpr StatusCode kInvalid = StatusCode::invalid_argument;

class Shapes : public testing::TestWithParam<Refusal> {};

TEST_P(Shapes, AreRefused) {
  expect_refused(GetParam());
}

template <int kAxis, std::int64_t kSize>
void set_q_axis(Call& call) {
  call.q.shape[kAxis] = kSize;
}
template <int kAxis, std::int64_t kSize>
void set_k_axis(Call& call) {
  call.k.shape[kAxis] = kSize;
}
template <int kAxis, std::int64_t kSize>
void set_v_axis(Call& call) {
  call.v.shape[kAxis] = kSize;
}

constexpr std::int64_t kTooLong = std::int64_t{1} << 31;

const Refusal kSizes[] = {
    {"NegativeBatchOfQ", set_q_axis<0, -1>, kInvalid, "q", {"axis 0", "-1", "2147483647"}},
    {"NegativeHeadsOfQ", set_q_axis<1, -2>, kInvalid, "q", {"axis 1", "-2", "2147483647"}},
    {"NegativeRowsOfQ", set_q_axis<2, -3>, kInvalid, "q", {"axis 2", "-3", "2147483647"}},
    {"NegativeHeadSizeOfK", set_k_axis<3, -1>, kInvalid, "k", {"axis 3", "-1", "2147483647"}},
    {"LongRowsOfQ", set_q_axis<2, kTooLong>, kInvalid, "q", {"axis 2", "2147483648"}},
    {"LongKeysOfK", set_k_axis<2, kTooLong>, kInvalid, "k", {"axis 2", "2147483648"}},
    {"LongHeadSizeOfV", set_v_axis<3, INT64_MAX>, kInvalid, "v", {"9223372036854775807"}},
    {"NoHeadSizeOfQ", set_q_axis<3, 0>, kInvalid, "q", {"head size is 0", "at least 1"}},
    {"NoHeadSizeOfK", set_k_axis<3, 0>, kInvalid, "k", {"head size is 0", "at least 1"}},
    {"NoHeadSizeOfV", set_v_axis<3, 0>, kInvalid, "v", {"head size is 0", "at least 1"}},
};
INSTANTIATE_TEST_SUITE_P(Sizes, Shapes, testing::ValuesIn(kSizes), refusal_name);

const Refusal kDisagreements[] = {
    {"BatchOfK", set_k_axis<0, 3>, kInvalid, "k", {"batch 3", "q's 2"}},
    {"BatchOfV", set_v_axis<0, 1>, kInvalid, "v", {"batch 1", "q's 2"}},
    {"HeadSizeOfK", set_k_axis<3, 8>, kInvalid, "k", {"head size 8", "q's 7"}},
    {"HeadsOfV", set_v_axis<1, 4>, kInvalid, "v", {"4 heads", "k's 2"}},
    {"KeysOfV", set_v_axis<2, 5>, kInvalid, "v", {"5 keys", "k's 6"}},
    {"HeadsThatDoNotDivide",
     [](Call& call) { call.k.shape[1] = call.v.shape[1] = 3; },
     kInvalid,
     "k",
     {"3 heads", "q's 4"}},
    {"MoreKvHeads",
     [](Call& call) { call.k.shape[1] = call.v.shape[1] = 8; },
     kInvalid,
     "k",
     {"8 heads", "q's 4"}},
    {"NoKvHeads",
     [](Call& call) { call.k.shape[1] = call.v.shape[1] = 0; },
     kInvalid,
     "k",
     {"0 heads", "q's 4"}},
};
INSTANTIATE_TEST_SUITE_P(Inputs, Shapes, testing::ValuesIn(kDisagreements), refusal_name);

const Refusal kOutputs[] = {
    {"Out",
     [](Call& call) { call.outputs.out.shape[3] = 7; },
     kInvalid,
     "out",
     {"(2, 4, 5, 7)", "(2, 4, 5, 3)"}},
    {"OutHeads",
     [](Call& call) { call.outputs.out.shape[1] = 2; },
     kInvalid,
     "out",
     {"(2, 2, 5, 3)", "(2, 4, 5, 3)"}},
    {"Lse",
     [](Call& call) { call.outputs.lse.shape[3] = 3; },
     kInvalid,
     "lse",
     {"(2, 4, 5, 3)", "(2, 4, 5, 1)"}},
    {"Weights",
     [](Call& call) { call.outputs.weights.shape[3] = 5; },
     kInvalid,
     "weights",
     {"(2, 4, 5, 5)", "(2, 4, 5, 6)"}},
    {"WeightsOfChosenRows",
     [](Call& call) {
       call.numbers = {4, 0};
       call.options.rows = call.numbers;
     },
     kInvalid,
     "weights",
     {"(2, 4, 5, 6)", "(2, 4, 2, 6)"}},
};
INSTANTIATE_TEST_SUITE_P(Outputs, Shapes, testing::ValuesIn(kOutputs), refusal_name);

template <DType kType>
void set_inputs(Call& call) {
  call.q.dtype = call.k.dtype = call.v.dtype = kType;
}

const Refusal kTypes[] = {
    {"TypeOfK", [](Call& call) { call.k.dtype = DType::f64; }, kInvalid, "k", {"f64", "q's f32"}},
    {"TypeOfV", [](Call& call) { call.v.dtype = DType::f16; }, kInvalid, "v", {"f16", "q's f32"}},
    {"TypeOfOut",
     [](Call& call) { call.outputs.out.dtype = DType::i64; },
     kInvalid,
     "out",
     {"i64", "bf16"}},
    {"TypeOfLse",
     [](Call& call) { call.outputs.lse.dtype = DType::f64; },
     kInvalid,
     "lse",
     {"f64", "q's f32"}},
    {"TypeOfWeights",
     [](Call& call) { call.outputs.weights.dtype = DType::f64; },
     kInvalid,
     "weights",
     {"f64", "q's f32"}},
    {"Bool", set_inputs<DType::boolean>, kInvalid, "q", {"bool", "bf16"}},
    {"Integers", set_inputs<DType::i64>, kInvalid, "q", {"i64", "bf16"}},
};
INSTANTIATE_TEST_SUITE_P(Types, Shapes, testing::ValuesIn(kTypes), refusal_name);

}  // namespace
}  // namespace regard::test

// Shapes and strides whose products leave 64 bits: refused in one sentence, never computed with.
// The sanitizers watch the arithmetic.
#include <limits>

#include "problem/call.h"
#include "problem/overlap.h"

namespace regard::test {
namespace {

constexpr StatusCode kInvalid = StatusCode::invalid_argument;
constexpr std::int64_t kLongest = (std::int64_t{1} << 31) - 1;

class Strides64 : public testing::TestWithParam<Refusal> {};

TEST_P(Strides64, AreRefused) {
  expect_refused(GetParam());
}

template <int kAxis, std::int64_t kStride>
void set_q_stride(Call& call) {
  call.q.strides[kAxis] = kStride;
}

const Refusal kStrides[] = {
    {"Largest", set_q_stride<2, INT64_MAX>, kInvalid, "q", {"9223372036854775807", "5"}},
    {"Smallest", set_q_stride<2, INT64_MIN>, kInvalid, "q", {"-9223372036854775808", "5"}},
    // One step of it still fits 64 bits, its magnitude does not.
    {"SmallestOnce", set_q_stride<0, INT64_MIN>, kInvalid, "q", {"-9223372036854775808", "2"}},
    {"LargestOnce", set_q_stride<0, INT64_MAX>, kInvalid, "q", {"9223372036854775807", "2"}},
    {"PastTheAddressSpace",
     set_q_stride<2, (std::int64_t{1} << 60)>,
     kInvalid,
     "q",
     {"1152921504606846976", "address space"}},
    {"TogetherPastTheAddressSpace",
     [](Call& call) {
       call.k.strides = {std::int64_t{1} << 58, std::int64_t{1} << 58, -(std::int64_t{1} << 57), 1};
     },
     kInvalid,
     "k",
     {"address space"}},
    {"OfOut",
     [](Call& call) { call.outputs.out.strides[1] = INT64_MIN; },
     kInvalid,
     "out",
     {"-9223372036854775808", "4"}},
    {"OfOutOnce",
     [](Call& call) { call.outputs.out.strides[0] = INT64_MIN; },
     kInvalid,
     "out",
     {"-9223372036854775808", "2"}},
    {"OfLse",
     [](Call& call) { call.outputs.lse.strides[2] = INT64_MAX / 2; },
     kInvalid,
     "lse",
     {"4611686018427387903", "5"}},
};
INSTANTIATE_TEST_SUITE_P(Stride, Strides64, testing::ValuesIn(kStrides), refusal_name);

/// One element of memory for q, k and v of any size.
struct Broadcast {
  float one = 1;
  float result = -7;
  ConstTensor q, k, v;
  Outputs outputs;

  Broadcast(const Shape& q_shape, std::int64_t kv_heads, const Strides& out_strides) {
    const Shape kv_shape{q_shape[0], kv_heads, 1, 1};
    q = {&one, DType::f32, q_shape, {}};
    k = v = {&one, DType::f32, kv_shape, {}};
    outputs.out = {&result, DType::f32, q_shape, out_strides};
  }
};

TEST(Sizes64, MoreRowsThanCanBeCounted) {
  // q comes by broadcast, which is allowed; this many rows are not.
  for (const Shape& shape :
       {Shape{1, kLongest, kLongest, 1}, Shape{kLongest, kLongest, kLongest, 1}}) {
    for (const Strides& strides : {Strides{1, 1, 1, 1}, Strides{3, 2, 1, 1}, Strides{}}) {
      const Broadcast call(shape, 1, strides);
      const Status status = forward(Context(1), call.q, call.k, call.v, call.outputs);
      EXPECT_EQ(status.code(), kInvalid);
      EXPECT_FALSE(status.message().empty());
      EXPECT_EQ(call.result, -7);
    }
  }
}

TEST(Sizes64, OutputsWithMoreElementsThanPlaces) {
  // Too many elements to look at one by one, in too few places to be apart.
  constexpr std::int64_t many = std::int64_t{1} << 27;
  Broadcast call({1, 1, many, 1}, 1, {1, 1, 1, 2});
  call.v.shape[3] = call.outputs.out.shape[3] = many;
  const Status status = forward(Context(1), call.q, call.k, call.v, call.outputs);
  EXPECT_EQ(status.code(), kInvalid);
  EXPECT_NE(status.message().find("out: strides (1, 1, 1, 2)"), std::string::npos)
      << status.message();
  EXPECT_EQ(call.result, -7);
}

TEST(Sizes64, ExplainSurvivesThem) {
  // Without weights memory nothing would be written, yet their rows would have to be counted.
  Broadcast call({kLongest, kLongest, kLongest, 1}, kLongest, {});
  call.outputs.out.data = nullptr;
  call.outputs.weights = {&call.result, DType::f32, {kLongest, kLongest, kLongest, 0}, {}};
  call.k.shape[2] = call.v.shape[2] = 0;
  Explanation explanation;
  const Status status = explain(Context(1), call.q, call.k, call.v, call.outputs, {}, explanation);
  EXPECT_EQ(status.code(), kInvalid);
  EXPECT_FALSE(status.message().empty());
}

TEST(Sizes64, AnAxisOfOneElementMayHaveAnyStride) {
  for (const std::int64_t stride : {INT64_MIN, INT64_MAX, std::int64_t{0}}) {
    auto in = random_inputs<float>({1, 1, 1, 1, 1, 1, 1}, 1);
    TestTensor<float> out({1, 1, 1, 1});
    ConstTensor q = in.q.view(), k = in.k.view(), v = in.v.view();
    Tensor o = out.tensor();
    q.strides = k.strides = v.strides = o.strides = {stride, stride, stride, stride};
    const Status status = forward(Context(1), q, k, v, {.out = o, .lse = {}, .weights = {}});
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(out.at(0, 0, 0, 0), in.v.at(0, 0, 0, 0));
  }
}

}  // namespace
}  // namespace regard::test

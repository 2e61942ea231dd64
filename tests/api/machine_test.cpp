// What the library says about the machine.
#include "regard/machine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "regard/attention.h"
#include "regard/context.h"

namespace regard::test {
namespace {

TEST(Machine, IsDescribed) {
  MachineInfo info;
  const Status status = describe_machine(info);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_FALSE(info.cpu.empty());
  ASSERT_FALSE(info.isas.empty());
  EXPECT_EQ(info.isas.front().name, "generic");
  EXPECT_TRUE(info.isas.front().runs_here);
  EXPECT_EQ(info.threads, Context(0).threads());
  ASSERT_EQ(info.cache_bytes.size(), 3U);
  for (const std::int64_t bytes : info.cache_bytes) EXPECT_GE(bytes, 0);
  EXPECT_FALSE(info.isa_reason.empty());
}

TEST(Machine, UsesAnIsaThatRunsHere) {
  MachineInfo info;
  ASSERT_TRUE(describe_machine(info).ok());
  const auto used = std::ranges::find(info.isas, info.isa, &IsaInfo::name);
  ASSERT_NE(used, info.isas.end());
  EXPECT_TRUE(used->runs_here);
  const char* asked = std::getenv("REGARD_ISA");
  if (asked) {
    EXPECT_EQ(info.isa, asked);
    return;
  }
  // Unasked, the last of the list that runs here.
  EXPECT_TRUE(
      std::none_of(used + 1, info.isas.end(), [](const auto& isa) { return isa.runs_here; }));
}

TEST(Peak, IsAPlausibleSpeed) {
  double f32 = 0, f64 = 0;
  ASSERT_TRUE(measure_peak(DType::f32, 3, f32).ok());
  ASSERT_TRUE(measure_peak(DType::f64, 3, f64).ok());
  for (const double flops : {f32, f64}) {
    EXPECT_GT(flops, 1e7);     // an emulator under load
    EXPECT_LT(flops, 1024e9);  // two 512-bit units at 16 GHz
  }
}

TEST(Peak, OfAUnitIsThatOfTheTypeThatCallsComputeIn) {
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    double flops = 0;
    ASSERT_TRUE(measure_peak("fma", dtype, 1, flops).ok());
    EXPECT_GT(flops, 1e7);
  }
}

TEST(Peak, IsThereForTheUnitOfEveryCall) {
  const Shape shape = {1, 2, 64, 64};
  double memory = 0;  // no tensor memory is touched
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    const ConstTensor tensor = {&memory, dtype, shape, dense_strides(shape)};
    Outputs outputs;
    outputs.out = {&memory, dtype, shape, dense_strides(shape)};
    Explanation explanation;
    ASSERT_TRUE(explain(Context(1), tensor, tensor, tensor, outputs, {}, explanation).ok());
    double flops = 0;
    const Status status = measure_peak(explanation.unit, dtype, 1, flops);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_GT(flops, 1e7);
    ConstTensor row = tensor;  // path decode
    outputs.out.shape[2] = row.shape[2] = 1;
    ASSERT_TRUE(explain(Context(1), row, tensor, tensor, outputs, {}, explanation).ok());
    EXPECT_TRUE(measure_peak(explanation.unit, dtype, 1, flops).ok()) << explanation.unit;
  }
}

TEST(Peak, OfAnUnknownUnitIsUnsupported) {
  double flops = -1;
  const Status status = measure_peak("abacus", DType::f32, 1, flops);
  EXPECT_EQ(status.code(), StatusCode::unsupported);
  EXPECT_NE(status.message().find("unit: "), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("'abacus' for f32"), std::string::npos) << status.message();
  EXPECT_EQ(measure_peak("fma", DType::i64, 1, flops).code(), StatusCode::unsupported);
  EXPECT_EQ(flops, -1);
}

TEST(Peak, TakesAtLeastOneRepeat) {
  for (const int repeats : {0, -4}) {
    double flops = 0;
    ASSERT_TRUE(measure_peak(DType::f32, repeats, flops).ok());
    EXPECT_GT(flops, 0);
  }
}

TEST(Peak, OfHalfTypesIsUnsupported) {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    double flops = -1;
    const Status status = measure_peak(dtype, 1, flops);
    EXPECT_EQ(status.code(), StatusCode::unsupported);
    EXPECT_EQ(status.message().rfind("dtype: ", 0), 0U) << status.message();
    EXPECT_EQ(flops, -1);
  }
}

TEST(Read, TakesTimeAndRefusesWhatIsNotThere) {
  KvCacheOptions options;
  options.k_type = KvType::int8;  // scales apart
  options.v_type = KvType::f32;
  options.kv_heads = 3;
  options.k_head_size = options.v_head_size = 40;
  options.page_tokens = 16;
  options.pages = 4;
  KvCache cache;
  double seconds = -1;
  EXPECT_EQ(measure_read(cache, {}, seconds).code(), StatusCode::invalid_argument);
  ASSERT_TRUE(KvCache::create(options, cache).ok());
  CacheRead what;
  ASSERT_TRUE(cache.add(what.sequence).ok());
  const Shape shape = {1, 3, 50, 40};  // the last page is used in part
  const std::vector<float> numbers(std::size_t(3 * 50 * 40), 1.0F);
  const ConstTensor tokens = view(numbers.data(), shape);
  ASSERT_TRUE(cache.append(what.sequence, tokens, tokens).ok());
  what.parts = 2;
  for (what.part = 0; what.part < 2; ++what.part) {
    seconds = -1;
    const Status status = measure_read(cache, what, seconds);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_GE(seconds, 0);
  }
  seconds = -1;
  const Status status = measure_read(cache, what, seconds);
  EXPECT_EQ(status.code(), StatusCode::invalid_argument);
  EXPECT_EQ(status.message(), "part: 2 is not in [0, 2)");
  what.part = 0;
  ++what.sequence;
  EXPECT_EQ(measure_read(cache, what, seconds).code(), StatusCode::invalid_argument);
  EXPECT_EQ(seconds, -1);
}

}  // namespace
}  // namespace regard::test

// A merged row has the same bits wherever it stands in a batch, whatever its strides.
#include "merge/parts.h"

namespace regard::test {
namespace {

constexpr Shape kShape{3, 2, 7, 261};
constexpr float kSinks[] = {0.5F, -1.25F};

TEST(MergedBits, DoNotDependOnStrides) {
  const Parts<float> parts(4, kShape, 1);
  const auto expected = run_merge<float>(parts.parts(), view_per_head(kSinks, 2));
  for (const Layout in : kInputLayouts) {
    Parts<float> laid;
    for (std::size_t n = 0; n < 4; ++n) {
      laid.out.push_back(parts.out[n].copy(in));
      laid.lse.push_back(parts.lse[n].copy(in));
    }
    for (const Layout out : kOutputLayouts) {
      const auto merged = run_merge<float>(laid.parts(), view_per_head(kSinks, 2), out);
      EXPECT_TRUE(merged.out.same_bits(expected.out)) << int(in) << " " << int(out);
      EXPECT_TRUE(merged.lse.same_bits(expected.lse)) << int(in) << " " << int(out);
    }
  }
}

TEST(MergedBits, DoNotDependOnTheBatch) {
  const Parts<float> parts(4, kShape, 1);
  const auto whole = run_merge<float>(parts.parts(), view_per_head(kSinks, 2));
  for (std::int64_t b = 0; b < kShape[0]; ++b) {
    auto entry = parts.parts();
    for (Part& part : entry) {
      for (ConstTensor* tensor : {&part.out, &part.lse}) {
        tensor->data = static_cast<const float*>(tensor->data) + b * tensor->strides[0];
        tensor->shape[0] = 1;
      }
    }
    const auto alone = run_merge<float>(entry, view_per_head(kSinks, 2));
    for_each_index(alone.out.shape(), [&](auto, auto h, auto i, auto d) {
      ASSERT_EQ(alone.out.at(0, h, i, d), whole.out.at(b, h, i, d));
      ASSERT_EQ(alone.lse.at(0, h, i, 0), whole.lse.at(b, h, i, 0));
    });
  }
}

}  // namespace
}  // namespace regard::test

// Overlap of strided views against brute force: the set of bytes that each element touches.
#include "problem/overlap.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <vector>

#include "base/status_text.h"
#include "support/test_tensor.h"

namespace regard::test {
namespace {

/// Only addresses are taken from it.
constexpr std::int64_t kArenaBytes = 2048;
alignas(64) std::array<std::byte, kArenaBytes> arena;

ConstTensor at(std::int64_t byte, DType dtype, const Shape& shape, const Strides& strides) {
  return {arena.data() + byte, dtype, shape, strides};
}

/// How many elements of the view touch each byte of the arena.
std::vector<int> touches(const ConstTensor& tensor) {
  std::vector<int> counts(std::size_t(kArenaBytes), 0);
  const std::int64_t bytes = element_bytes(tensor.dtype);
  const std::int64_t origin = static_cast<const std::byte*>(tensor.data) - arena.data();
  for_each_index(tensor.shape, [&](std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) {
    const auto& stride = tensor.strides;
    const std::int64_t first =
        origin + (b * stride[0] + h * stride[1] + s * stride[2] + d * stride[3]) * bytes;
    for (std::int64_t byte = first; byte < first + bytes; ++byte) ++counts[std::size_t(byte)];
  });
  return counts;
}

bool overlap_by_force(const ConstTensor& a, const ConstTensor& b) {
  const std::vector<int> in_a = touches(a), in_b = touches(b);
  for (std::size_t byte = 0; byte < in_a.size(); ++byte)
    if (in_a[byte] > 0 && in_b[byte] > 0) return true;
  return false;
}

bool overlaps_itself_by_force(const ConstTensor& tensor) {
  for (const int count : touches(tensor))
    if (count > 1) return true;
  return false;
}

/// Sizes 0 to 3 and strides that reach at most 4 * 2 * 12 elements from the middle of the arena.
ConstTensor any_view() {
  const auto dtype = *rc::gen::element(DType::f32, DType::f64, DType::f16);
  const auto size = rc::gen::weightedElement<std::int64_t>({{1, 0}, {4, 1}, {8, 2}, {8, 3}});
  const auto stride = rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::int64_t>(-12, 13));
  const auto start = *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::int64_t>(0, 24));
  return at(kArenaBytes / 2 + start * element_bytes(dtype), dtype, *rc::gen::container<Shape>(size),
            *rc::gen::container<Strides>(stride));
}

RC_GTEST_PROP(Overlap, WithItselfIsExact, ()) {
  const ConstTensor tensor = any_view();
  const bool expected = overlaps_itself_by_force(tensor);
  RC_ASSERT(problem::overlaps_itself(tensor) == expected);
}

RC_GTEST_PROP(Overlap, OfTwoViewsIsExact, ()) {
  const ConstTensor a = any_view(), b = any_view();
  const bool expected = overlap_by_force(a, b);
  RC_ASSERT(problem::overlap(a, b) == expected);
  RC_ASSERT(problem::overlap(b, a) == expected);
}

TEST(Overlap, NothingOverlapsAnEmptyOrAbsentView) {
  const ConstTensor whole = at(0, DType::f32, {1, 1, 16, 16}, {256, 256, 16, 1});
  EXPECT_FALSE(problem::overlap(whole, at(0, DType::f32, {1, 1, 0, 16}, {0, 0, 16, 1})));
  EXPECT_FALSE(problem::overlap({}, whole));
  EXPECT_FALSE(problem::overlaps_itself(at(0, DType::f32, {1, 0, 5, 5}, {0, 0, 0, 0})));
  EXPECT_FALSE(problem::overlaps_itself({}));
}

TEST(Overlap, InterleavedViewsShareNothing) {
  // Packed (B, S, 3, H, D): q, k and v of one buffer, seen as (B, H, S, D).
  const Shape shape{2, 3, 7, 5};
  const Strides strides{7 * 45, 5, 45, 1};
  ConstTensor part[3];
  for (std::int64_t n = 0; n < 3; ++n) part[n] = at(n * 15 * 2, DType::f16, shape, strides);
  for (const auto& tensor : part) EXPECT_FALSE(problem::overlaps_itself(tensor));
  EXPECT_FALSE(problem::overlap(part[0], part[1]));
  EXPECT_FALSE(problem::overlap(part[0], part[2]));
  EXPECT_FALSE(problem::overlap(part[1], part[2]));
  EXPECT_TRUE(problem::overlap(part[0], at(14 * 2, DType::f16, shape, strides)));
}

TEST(Overlap, EveryLayoutOfTheTestsIsFreeOfIt) {
  for (const Layout layout : kInputLayouts) {
    const TestTensor<float> tensor({2, 3, 4, 5}, layout);
    EXPECT_FALSE(problem::overlaps_itself(tensor.view()));
  }
}

}  // namespace
}  // namespace regard::test

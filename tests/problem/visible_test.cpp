// Which keys a row sees, against the definition: key j is visible iff j <= i + offset.
#include "problem/visible.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <vector>

#include "problem/problem.h"

namespace regard::test {
namespace {

// Wide enough for any row number plus any offset.
using Wide = __int128;

constexpr std::int64_t kLongest = (std::int64_t{1} << 31) - 1;

struct Alignment {
  Causal causal = Causal::none;
  std::int64_t batch = 1, sq = 0, skv = 0;
  std::vector<std::int64_t> q_offset;

  problem::Problem problem() const {
    problem::Problem p;
    p.causal = causal;
    p.batch = batch;
    p.sq = sq;
    p.skv = skv;
    p.q_offset = q_offset;
    return p;
  }

  bool sees(std::int64_t b, std::int64_t i, std::int64_t j) const {
    if (causal == Causal::none) return true;
    Wide offset = causal == Causal::top_left ? 0 : Wide{skv} - sq;
    if (q_offset.size() == 1) offset = q_offset[0];
    if (q_offset.size() > 1) offset = q_offset[std::size_t(b)];
    return Wide{j} <= Wide{i} + offset;
  }

  /// Compares every key where there are few, else the keys at both ends of the range.
  bool agrees(std::int64_t b, std::int64_t i) const {
    const problem::KeyRange range = problem::visible_keys(problem(), b, i);
    const auto inside = [&](std::int64_t j) { return range.lo <= j && j < range.hi; };
    if (range.lo < range.hi && (range.lo < 0 || range.hi > skv)) return false;
    const auto agrees_at = [&](std::int64_t j) {
      return j < 0 || j >= skv || inside(j) == sees(b, i, j);
    };
    bool agree = agrees_at(skv - 1);
    const std::int64_t middle = range.lo < range.hi ? range.hi : 0;
    for (std::int64_t j = 0; j < 20; ++j) agree = agree && agrees_at(j) && agrees_at(middle - j);
    return agree;
  }
};

/// Uniform in [begin, end), whatever the size that RapidCheck has reached.
rc::Gen<std::int64_t> any_number(std::int64_t begin, std::int64_t end) {
  return rc::gen::resize(rc::kNominalSize, rc::gen::inRange(begin, end));
}

rc::Gen<Causal> any_causal() {
  return rc::gen::element(Causal::none, Causal::top_left, Causal::bottom_right);
}

/// Small numbers, numbers about the longest axis, and numbers about both ends of 64 bits.
rc::Gen<std::int64_t> any_offset() {
  return rc::gen::mapcat(rc::gen::element<std::int64_t>(
                             0, kLongest, -kLongest, std::int64_t{1} << 32, INT64_MAX, INT64_MIN),
                         [](std::int64_t centre) {
                           return rc::gen::map(any_number(-12, 13), [centre](std::int64_t shift) {
                             std::int64_t sum = 0;
                             return __builtin_add_overflow(centre, shift, &sum) ? centre : sum;
                           });
                         });
}

Alignment any_alignment(std::int64_t shortest, std::int64_t longest) {
  const auto size = any_number(shortest, longest + 1);
  Alignment a;
  a.causal = *any_causal();
  a.batch = *any_number(1, 4);
  a.sq = *size;
  a.skv = *size;
  const auto offsets = *rc::gen::element<std::size_t>(0, 1, std::size_t(a.batch));
  a.q_offset = *rc::gen::container<std::vector<std::int64_t>>(offsets, any_offset());
  return a;
}

RC_GTEST_PROP(VisibleKeys, FollowTheDefinition, ()) {
  const Alignment a = any_alignment(0, 9);
  for (std::int64_t b = 0; b < a.batch; ++b)
    for (std::int64_t i = 0; i < a.sq; ++i) RC_ASSERT(a.agrees(b, i));
}

RC_GTEST_PROP(VisibleKeys, FollowTheDefinitionAtTheLongestAxes, ()) {
  const Alignment a = any_alignment(kLongest - 20, kLongest);
  for (std::int64_t b = 0; b < a.batch; ++b)
    for (const std::int64_t i : {std::int64_t{0}, a.sq / 2, a.sq - 1}) RC_ASSERT(a.agrees(b, i));
}

RC_GTEST_PROP(VisibleKeys, DifferOnlyBetweenDistinctEntries, ()) {
  const Alignment a = any_alignment(0, 9);
  const std::int64_t distinct = problem::distinct_ranges(a.problem());
  RC_ASSERT(distinct == 1 || distinct == a.batch);
  if (distinct == a.batch) return;
  for (std::int64_t i = 0; i < a.sq; ++i) {
    const problem::KeyRange first = problem::visible_keys(a.problem(), 0, i);
    for (std::int64_t b = 1; b < a.batch; ++b) {
      const problem::KeyRange range = problem::visible_keys(a.problem(), b, i);
      RC_ASSERT(range.lo == first.lo && range.hi == first.hi);
    }
  }
}

std::int64_t last_seen(const Alignment& a, std::int64_t i) {
  return problem::visible_keys(a.problem(), 0, i).hi - 1;
}

TEST(VisibleKeys, AlignTheFirstOrTheLastRow) {
  EXPECT_EQ(last_seen({Causal::top_left, 1, 3, 8, {}}, 0), 0);
  EXPECT_EQ(last_seen({Causal::top_left, 1, 3, 8, {}}, 2), 2);
  EXPECT_EQ(last_seen({Causal::bottom_right, 1, 3, 8, {}}, 0), 5);
  EXPECT_EQ(last_seen({Causal::bottom_right, 1, 3, 8, {}}, 2), 7);
  EXPECT_EQ(last_seen({Causal::none, 1, 3, 8, {}}, 0), 7);
  EXPECT_EQ(last_seen({Causal::bottom_right, 1, 3, 8, {4}}, 0), 4);
  EXPECT_EQ(last_seen({Causal::none, 1, 3, 8, {4}}, 0), 7);
}

TEST(VisibleKeys, AreNoneAboveTheDiagonal) {
  EXPECT_EQ(last_seen({Causal::bottom_right, 1, 8, 3, {}}, 4), -1);
  EXPECT_EQ(last_seen({Causal::bottom_right, 1, 8, 3, {}}, 5), 0);
  EXPECT_EQ(last_seen({Causal::top_left, 1, 8, 3, {INT64_MIN}}, 7), -1);
  EXPECT_EQ(last_seen({Causal::top_left, 1, 8, 3, {INT64_MAX}}, 7), 2);
}

}  // namespace
}  // namespace regard::test

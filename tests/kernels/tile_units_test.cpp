// Path tiles by the tiles of the hardware against path tiles by emulated ones: the same bits in
// every output, whatever the shape, the options and the numbers. So what the other tests prove of
// emulated tiles on any CPU holds for the hardware.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

#include "dispatch/dispatch.h"
#include "kernels/tiles.h"
#include "plan/plan.h"
#include "problem/problem.h"
#include "run/run.h"
#include "support/random_options.h"

namespace regard::test {
namespace {

/// Null where no ISA that runs here has tiles.
const dispatch::Isa* isa_with_tiles() {
  for (const dispatch::Isa& isa : dispatch::isas()) {
    if (std::string_view(isa.table->tiles_bf16->unit) == "tile" && isa.runs_here()) return &isa;
  }
  return nullptr;
}

/// Those with the exp2 of the hardware's ISA.
std::vector<const dispatch::Isa*> isas_that_emulate() {
  std::vector<const dispatch::Isa*> some;
  for (const dispatch::Isa& isa : dispatch::isas()) {
    const bool alike = std::string_view(isa.name).starts_with("avx512");
    if (alike && isa.table->tiles_bf16->emulated && isa.runs_here()) some.push_back(&isa);
  }
  return some;
}

/// Every output, and out where nothing else is wanted: its weights are others.
struct All {
  TestTensor<float> out, lse, weights, entropy, mass, out_alone;

  explicit All(const ProblemShape& shape)
      : out(shape.out()),
        lse(shape.lse()),
        weights(shape.weights()),
        entropy(shape.lse()),
        mass({shape.batch, shape.heads(), 1, shape.skv}),
        out_alone(shape.out()) {}
};

void run_on(const dispatch::Isa& isa, const Inputs<BF16>& in, const Options& options,
            const Outputs& outputs) {
  problem::Problem problem;
  const Status status = problem::make_problem(in.q.view(), in.k.view(), in.v.view(), outputs,
                                              on_tiles(options), problem);
  ASSERT_TRUE(status.ok()) << status.message();
  const plan::Plan plan = plan::make_plan(problem, *isa.table, 1);
  ASSERT_TRUE(run::run_plan(problem, plan, {}, *one_thread().state()).ok());
}

All run_all(const dispatch::Isa& isa, const ProblemShape& shape, const Inputs<BF16>& in,
            const Options& options) {
  All all(shape);
  Outputs outputs;
  outputs.out = all.out_alone.tensor();
  run_on(isa, in, options, outputs);
  outputs.out = all.out.tensor();
  outputs.lse = all.lse.tensor();
  outputs.weights = all.weights.tensor();
  outputs.entropy = all.entropy.tensor();
  outputs.key_mass = all.mass.tensor();
  run_on(isa, in, options, outputs);
  return all;
}

/// Any NaN is as good as another.
::testing::AssertionResult same(const char* name, const TestTensor<float>& a,
                                const TestTensor<float>& b) {
  std::int64_t differ = 0;
  for_each_index(a.shape(), [&](auto n, auto h, auto i, auto d) {
    const float x = a.at(n, h, i, d), y = b.at(n, h, i, d);
    if (std::isnan(x) && std::isnan(y)) return;
    differ += std::bit_cast<std::uint32_t>(x) != std::bit_cast<std::uint32_t>(y);
  });
  if (differ == 0) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << differ << " numbers differ in " << name;
}

void expect_same(const All& a, const All& b) {
  EXPECT_TRUE(same("out", a.out, b.out));
  EXPECT_TRUE(same("lse", a.lse, b.lse));
  EXPECT_TRUE(same("weights", a.weights, b.weights));
  EXPECT_TRUE(same("entropy", a.entropy, b.entropy));
  EXPECT_TRUE(same("key mass", a.mass, b.mass));
  EXPECT_TRUE(same("out alone", a.out_alone, b.out_alone));
}

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : engine_(seed) {}

  ProblemShape shape() {
    return {.batch = pick(1, 2),
            .kv_heads = pick(1, 2),
            .group = pick(1, 3),
            .sq = pick(1, 100),
            .skv = pick(0, 3) == 0 ? pick(190, 420) : pick(1, 100),
            .d = pick(0, 2) == 0 ? 32 * pick(1, 4) : pick(1, 140),
            .dv = pick(0, 2) == 0 ? 16 * pick(1, 8) : pick(1, 140)};
  }
  Layout layout() { return kInputLayouts[pick(0, std::size(kInputLayouts) - 1)]; }
  /// Few numbers of a tensor become subnormal, huge, or, where asked for, not finite.
  void spoil(TestTensor<BF16>& tensor, bool finite) {
    constexpr std::uint16_t values[] = {0x0001, 0x807f, 0x0080, 0x8000, 0x5f80,
                                        0x7f7f, 0x7f80, 0xff80, 0x7fc1};
    for_each_index(tensor.shape(), [&](auto b, auto h, auto s, auto d) {
      if (pick(0, 499) == 0) tensor.at(b, h, s, d) = BF16{values[pick(0, finite ? 4 : 8)]};
    });
  }

 private:
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }

  std::mt19937_64 engine_;
};

TEST(TileUnits, GiveTheBitsOfEmulatedOnes) {
  const dispatch::Isa* hardware = isa_with_tiles();
  if (!hardware) GTEST_SKIP() << "no ISA that runs here has tiles in hardware";
  const auto others = isas_that_emulate();
  ASSERT_FALSE(others.empty());
  constexpr double deviations[] = {1, 1, 0.01, 8, 40, 1e30};
  for (std::uint64_t seed = 0; seed < (kSanitized ? 20 : 200); ++seed) {
    Draw draw(seed);
    const ProblemShape shape = draw.shape();
    const Layout layout = draw.layout();
    auto in = random_inputs<BF16>(shape, seed, layout);
    in.q = normal_tensor<BF16>(shape.q(), seed, layout, deviations[seed % 6]);
    if (seed % 5 == 3) {
      for (auto* tensor : {&in.q, &in.k, &in.v}) draw.spoil(*tensor, seed % 2 == 0);
    }
    const RandomOptions random(shape, seed);
    const Options options = seed % 4 != 0 ? random.options : Options{};
    const All expected = run_all(*hardware, shape, in, options);
    for (const dispatch::Isa* other : others) {
      SCOPED_TRACE(testing::Message() << other->name << ' ' << shape << " seed " << seed);
      expect_same(run_all(*other, shape, in, options), expected);
    }
  }
}

}  // namespace
}  // namespace regard::test

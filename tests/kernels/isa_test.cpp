// Proves which instruction set served this run, by what only it does.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>

#include "dispatch/dispatch.h"
#include "kernels/engine.h"

namespace regard::test {
namespace {

std::string asked() {
  const char* isa = std::getenv("REGARD_ISA");
  return isa ? isa : "";
}

Explanation explanation() {
  const Inputs<float> in = random_inputs<float>({1, 1, 1, 64, 64, 64, 64}, 1);
  Explanation result;
  EXPECT_TRUE(explain(one_thread(), in.q.view(), in.k.view(), in.v.view(), {}, {}, result).ok());
  return result;
}

TEST(Isa, IsTheOneAskedFor) {
  if (asked().empty()) GTEST_SKIP() << "REGARD_ISA is not set";
  EXPECT_EQ(explanation().isa, asked());
  EXPECT_NE(explanation().isa_reason.find("REGARD_ISA"), std::string::npos);
}

bool has_avx512(std::string_view isa) {
  return isa.starts_with("avx512") || isa == "amx";
}

TEST(Isa, HasItsOwnTile) {
  const Explanation e = explanation();
  const std::int64_t rows = has_avx512(e.isa) ? 48
                            : e.isa == "avx2" ? 24
                            : e.isa == "neon" ? 12
                                              : 8;
  EXPECT_EQ(e.rows_per_tile, rows);
}

TEST(Isa, TablesShareALoopOnlyWhereOneAddsToTheOther) {
  const auto isas = dispatch::isas();
  for (std::size_t a = 0; a < isas.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      const bool adds = has_avx512(isas[a].name) && has_avx512(isas[b].name);
      EXPECT_EQ(isas[a].table->direct_f32->run == isas[b].table->direct_f32->run, adds);
      EXPECT_EQ(isas[a].table->direct_f64->run == isas[b].table->direct_f64->run, adds);
    }
  }
}

// With q = (1, x) and k = (-x*x rounded, x), the dot product fma(x, x, -x*x) is the rounding error
// of x*x where multiply-adds round once, and 0 where they round twice: the instructions that ran
// show in the bits.
TEST(Isa, RoundsAsItsInstructionsDo) {
  const double x = 1 + 0x1p-30;
  Inputs<double> in = random_inputs<double>({1, 1, 1, 1, 1, 2, 1}, 1);
  in.q.at(0, 0, 0, 0) = 1;
  in.q.at(0, 0, 0, 1) = x;
  in.k.at(0, 0, 0, 0) = -(x * x);
  in.k.at(0, 0, 0, 1) = x;
  Options options;
  // 1/log2(e), so that the folded factor is 1 up to rounding; then magnified.
  options.scale = 0x1p60 * std::log(2.0);
  const Result<double> result = run_forward(in, options);
  const bool rounds_once = std::abs(result.lse.at(0, 0, 0, 0)) > 0;
  EXPECT_EQ(rounds_once, explanation().isa != "generic");
}

}  // namespace
}  // namespace regard::test

// Which path and loop a call takes: by type, precision and ISA alone, unless `path` pins one.
#include <gtest/gtest.h>

#include <string>

#include "plan/planned.h"

namespace regard::test {
namespace {

Planned planned(const dispatch::Isa& isa, DType dtype, Precision precision = Precision::default_,
                Path path = Path::automatic) {
  return Planned(
      {.shape = {1, 1, 1, 9, 1, 1, 1}, .dtype = dtype, .path = path, .precision = precision}, isa);
}

bool has_unit(const dispatch::Isa& isa) {
  const std::string name = isa.name;
  return name == "avx512_bf16" || name == "amx";
}

const contract::DirectKernel* direct_loop(const dispatch::Isa& isa, DType dtype) {
  return dtype == DType::f64 ? isa.table->direct_f64 : isa.table->direct_f32;
}

constexpr DType kTypes[] = {DType::f64, DType::f32, DType::f16, DType::bf16};

TEST(Paths, TakeTheUnitOfTheIsaForBf16Alone) {
  for (const dispatch::Isa& isa : dispatch::isas()) {
    for (const DType dtype : kTypes) {
      const Planned p = planned(isa, dtype);
      const bool tiles = dtype == DType::bf16 && has_unit(isa);
      EXPECT_EQ(p.plan.path, tiles ? Path::tiles : Path::direct) << isa.name;
      EXPECT_EQ(p.plan.kernel, tiles ? isa.table->tiles_bf16 : direct_loop(isa, dtype)) << isa.name;
      EXPECT_STRNE(p.plan.path_reason, "");
    }
  }
}

TEST(Paths, KeepWeightsWhereTheCallWantsThemPrecise) {
  for (const dispatch::Isa& isa : dispatch::isas()) {
    for (const DType dtype : kTypes) {
      const Planned p = planned(isa, dtype, Precision::high);
      EXPECT_EQ(p.plan.path, Path::direct) << isa.name;
      EXPECT_EQ(p.plan.kernel, direct_loop(isa, dtype)) << isa.name;
    }
  }
}

TEST(Paths, ArePinned) {
  for (const dispatch::Isa& isa : dispatch::isas()) {
    const Planned tiles = planned(isa, DType::bf16, Precision::default_, Path::tiles);
    EXPECT_EQ(tiles.plan.path, Path::tiles);
    EXPECT_EQ(tiles.plan.kernel, isa.table->tiles_bf16);
    EXPECT_STREQ(tiles.plan.path_reason, "asked for");
    for (const DType dtype : kTypes) {
      const Planned direct = planned(isa, dtype, Precision::default_, Path::direct);
      EXPECT_EQ(direct.plan.path, Path::direct);
      EXPECT_EQ(direct.plan.kernel, direct_loop(isa, dtype));
      EXPECT_STREQ(direct.plan.path_reason, "asked for");
    }
  }
}

// By shape alone where at all, never by the place of the call: the bits of a row depend on it.
TEST(Paths, DoNotDependOnKeysHeadsOrOutputs) {
  for (const dispatch::Isa& isa : dispatch::isas()) {
    const Path path = planned(isa, DType::bf16).plan.path;
    for (const ProblemShape& shape :
         {ProblemShape{1, 1, 1, 9, 4096, 64, 64}, ProblemShape{3, 2, 8, 700, 5, 64, 64}}) {
      const Planned p({.shape = shape,
                       .dtype = DType::bf16,
                       .path = Path::automatic,
                       .weights = true,
                       .threads = 5},
                      isa);
      EXPECT_EQ(p.plan.path, path) << isa.name;
    }
  }
}

// Up to eight rows a KV head, four where the type has tiles or half the lanes. Pairs of bf16 are
// multiplied where the ISA can.
TEST(Paths, TakeDecodeForFewRows) {
  for (const dispatch::Isa& isa : dispatch::isas()) {
    for (const DType dtype : kTypes) {
      const bool pairs = dtype == DType::bf16 && has_unit(isa);
      const bool four = dtype == DType::f64 || (pairs && std::string(isa.name) == "amx");
      const contract::DecodeKernel* loop = dtype == DType::f64 ? isa.table->decode_f64
                                           : pairs             ? isa.table->decode_bf16
                                                               : isa.table->decode_f32;
      const Planned high({.shape = {2, 3, 1, 1, 100, 64, 64},
                          .dtype = dtype,
                          .path = Path::automatic,
                          .precision = Precision::high},
                         isa);
      ASSERT_EQ(high.plan.path, Path::decode);
      EXPECT_EQ(high.plan.decode->kernel,
                dtype == DType::f64 ? isa.table->decode_f64 : isa.table->decode_f32);
      for (const std::int64_t group : {1, 2, 4}) {
        for (const std::int64_t sq : {0, 1, 2, 3, 4, 5, 8, 9}) {
          const Planned p(
              {.shape = {2, 3, group, sq, 100, 64, 64}, .dtype = dtype, .path = Path::automatic},
              isa);
          const bool few = sq * group <= (four ? 4 : 8);
          EXPECT_EQ(p.plan.path == Path::decode, few) << isa.name << sq << ' ' << group;
          ASSERT_EQ(p.plan.decode.has_value(), few);
          if (few) {
            EXPECT_EQ(p.plan.decode->kernel, loop);
          }
          EXPECT_EQ(p.plan.main.items > 0, !few);
        }
      }
    }
  }
}

// Weights and statistics are not its: they come from the loop that more rows would take.
TEST(Paths, ServeWeightsBesideDecode) {
  for (const dispatch::Isa& isa : dispatch::isas()) {
    const Planned p({.shape = {1, 1, 1, 1, 100, 64, 64}, .path = Path::automatic, .weights = true},
                    isa);
    EXPECT_EQ(p.plan.path, Path::decode);
    EXPECT_TRUE(p.plan.decode.has_value());
    EXPECT_GT(p.plan.main.items, 0);
    EXPECT_EQ(p.plan.kernel, direct_loop(isa, DType::f32));
  }
}

TEST(Paths, HaveALoopOfTheRightElements) {
  for (const dispatch::Isa& isa : dispatch::isas()) {
    EXPECT_EQ(isa.table->direct_f32->element_bytes, 4);
    EXPECT_EQ(isa.table->direct_f64->element_bytes, 8);
    EXPECT_EQ(isa.table->tiles_bf16->element_bytes, 4);
    EXPECT_EQ(isa.table->tiles_bf16->operand_bytes, 2);
    EXPECT_EQ(isa.table->tiles_bf16->emulated, !has_unit(isa)) << isa.name;
    EXPECT_EQ(isa.table->peak_bf16 != nullptr, has_unit(isa)) << isa.name;
    EXPECT_EQ(isa.table->peak_dot != nullptr, has_unit(isa)) << isa.name;
  }
}

}  // namespace
}  // namespace regard::test

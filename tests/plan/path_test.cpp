// Which path and loop a call takes: by type, precision and ISA alone, unless `path` pins one.
#include <gtest/gtest.h>

#include <string>

#include "plan/planned.h"

namespace regard::test {
namespace {

Planned planned(const dispatch::Isa& isa, DType dtype, Precision precision = Precision::default_,
                Path path = Path::automatic) {
  return Planned({.dtype = dtype, .path = path, .precision = precision}, isa);
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
TEST(Paths, DoNotDependOnRowsHeadsOrOutputs) {
  for (const dispatch::Isa& isa : dispatch::isas()) {
    const Path path = planned(isa, DType::bf16).plan.path;
    for (const ProblemShape& shape :
         {ProblemShape{1, 1, 1, 1, 4096, 64, 64}, ProblemShape{3, 2, 8, 700, 5, 64, 64}}) {
      const Planned p({.shape = shape, .dtype = DType::bf16, .weights = true, .threads = 5}, isa);
      EXPECT_EQ(p.plan.path, path) << isa.name;
    }
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
  }
}

}  // namespace
}  // namespace regard::test

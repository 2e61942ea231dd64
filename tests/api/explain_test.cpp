// What `explain` says agrees with the formulas of its fields, and it touches no tensor memory.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "regard/attention.h"
#include "regard/machine.h"
#include "support/guarded.h"
#include "support/shapes.h"

namespace regard::test {
namespace {

std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

struct Question {
  ProblemShape shape;
  DType dtype = DType::f32;
  Options options = {};
  bool weights = false;
  int threads = 1;
};

/// Every tensor lies in a page that cannot be read or written.
Explanation ask(const Question& question) {
  static GuardedArray<double> nowhere(0, GuardedArray<double>::Against::front);
  const auto typed = [&](const Shape& shape, DType dtype) {
    return Tensor{nowhere.data(), dtype, shape, dense_strides(shape)};
  };
  const auto tensor = [&](const Shape& shape) { return typed(shape, question.dtype); };
  const DType compute = question.dtype == DType::f64 ? DType::f64 : DType::f32;
  const ProblemShape& s = question.shape;
  Shape weights = s.weights();
  if (!question.options.rows.empty()) weights[2] = std::int64_t(question.options.rows.size());
  const Outputs outputs{tensor(s.out()), typed(s.lse(), compute),
                        question.weights ? typed(weights, compute) : Tensor{}};
  Explanation explanation;
  const Status status = explain(Context(question.threads), tensor(s.q()), tensor(s.k()),
                                tensor(s.v()), outputs, question.options, explanation);
  EXPECT_TRUE(status.ok()) << status.message();
  return explanation;
}

double share(const Explanation& e) {
  return double(e.tiles_visited) / double(e.tiles_total);
}

Options aligned(Causal causal) {
  Options options;
  options.causal = causal;
  return options;
}

TEST(Explain, NamesPathAndIsa) {
  MachineInfo machine;
  ASSERT_TRUE(describe_machine(machine).ok());
  const Explanation e = ask({.shape = {1, 2, 1, 33, 70, 64, 64}});
  EXPECT_EQ(e.path, Path::direct);
  EXPECT_FALSE(e.path_reason.empty());
  EXPECT_EQ(e.isa, machine.isa);
  EXPECT_FALSE(e.isa_reason.empty());
  if (const char* asked = std::getenv("REGARD_ISA")) {
    EXPECT_EQ(e.isa, asked);
    EXPECT_NE(e.isa_reason.find("REGARD_ISA"), std::string::npos);
  }
  Options options;
  options.path = Path::direct;
  const Explanation pinned = ask({.shape = {1, 2, 1, 33, 70, 64, 64}, .options = options});
  EXPECT_EQ(pinned.path, Path::direct);
  EXPECT_NE(pinned.path_reason, e.path_reason);
}

/// What multiplies bf16 on this ISA where precision is default.
std::string unit_of_bf16(const std::string& isa) {
  return isa == "avx512_bf16" ? "dot" : isa == "amx" ? "tile" : "emulated tiles";
}

TEST(Explain, NamesTheUnit) {
  const ProblemShape shape{1, 2, 1, 33, 70, 64, 64};
  for (const DType dtype : {DType::f32, DType::f64, DType::f16}) {
    EXPECT_EQ(ask({.shape = shape, .dtype = dtype}).unit, "fma");
  }
  Options options;
  const Explanation automatic = ask({.shape = shape, .dtype = DType::bf16, .options = options});
  options.path = Path::tiles;
  const Explanation tiles = ask({.shape = shape, .dtype = DType::bf16, .options = options});
  options.path = Path::direct;
  const Explanation direct = ask({.shape = shape, .dtype = DType::bf16, .options = options});
  const bool has_unit = automatic.isa == "avx512_bf16" || automatic.isa == "amx";
  EXPECT_EQ(automatic.path, has_unit ? Path::tiles : Path::direct);
  EXPECT_EQ(automatic.unit, has_unit ? tiles.unit : "fma");
  EXPECT_EQ(tiles.unit, unit_of_bf16(tiles.isa));
  EXPECT_EQ(direct.unit, "fma");
  const ProblemShape row{1, 2, 1, 1, 70, 64, 64};
  EXPECT_EQ(ask({.shape = row, .dtype = DType::bf16}).unit, has_unit ? "dot" : "fma");
  EXPECT_EQ(ask({.shape = row, .dtype = DType::f16}).unit, "fma");
  EXPECT_NE(to_text(tiles).find("unit      " + tiles.unit), std::string::npos);
  EXPECT_NE(to_text(tiles).find("path      tiles (asked for)"), std::string::npos);
}

TEST(Explain, SaysHowKeysAndValuesAreRead) {
  const auto reason = [](DType dtype, Path path, std::int64_t d) {
    Options options;
    options.path = path;
    return ask({.shape = {1, 1, 1, 9, 9, d, 8}, .dtype = dtype, .options = options}).input_reason;
  };
  EXPECT_TRUE(reason(DType::f32, Path::direct, 64).starts_with("in place"));
  EXPECT_NE(reason(DType::bf16, Path::direct, 64).find("converted to f32"), std::string::npos);
  const std::string tiles = reason(DType::bf16, Path::tiles, 64);
  EXPECT_TRUE(tiles.starts_with("K in place"));
  const bool dot = ask({.shape = {1, 1, 1, 9, 9, 64, 8}, .dtype = DType::bf16}).unit == "dot";
  EXPECT_EQ(tiles.find("where a tile is full") == std::string::npos, dot) << tiles;
  EXPECT_TRUE(reason(DType::bf16, Path::tiles, 63).starts_with("K copied"));
}

TEST(Explain, CountsTilesAndItems) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
    for (const ProblemShape& s : kShapes) {
      Options options;
      options.path = s.sq * s.group <= 8 ? Path::direct : Path::automatic;
      const Explanation e = ask({.shape = s, .dtype = dtype, .options = options});
      const std::int64_t spaces = s.batch * s.kv_heads, rows = s.sq * s.group;
      EXPECT_EQ(e.tiles_total,
                spaces * divide_up(rows, e.rows_per_tile) * divide_up(s.skv, e.keys_per_tile))
          << s;
      EXPECT_EQ(e.tiles_visited, e.tiles_total) << s;
      EXPECT_EQ(e.main_items, rows == 0 ? 0 : spaces * divide_up(rows, e.rows_per_item)) << s;
      EXPECT_EQ(e.weights_items, 0) << s;
      EXPECT_EQ(e.threads, 1) << s;
      EXPECT_GT(e.scratch_bytes, 0) << s;
    }
  }
}

TEST(Explain, SaysThatFewRowsAreDecoded) {
  const Explanation e = ask({.shape = {2, 3, 4, 1, 5000, 64, 64}});
  EXPECT_EQ(e.path, Path::decode);
  EXPECT_EQ(e.path_reason, "few query rows share a KV head");
  EXPECT_EQ(e.main_items, 2 * 3 * 5);  // chunks of 1,024 keys
  EXPECT_EQ(e.threads, 1);
  EXPECT_EQ(e.tiles_total, 2 * 3 * 79);  // blocks of 64 keys
  EXPECT_EQ(e.tiles_visited, e.tiles_total);
  EXPECT_EQ(e.passes, 1);
  EXPECT_TRUE(e.input_reason.starts_with("in place"));
  EXPECT_EQ(ask({.shape = {2, 3, 3, 3, 5000, 64, 64}}).path, Path::direct);
}

TEST(Explain, CutsBlocksIntoWholeTiles) {
  const Explanation e = ask({.shape = {1, 1, 1, 500, 500, 64, 64}});
  EXPECT_GT(e.rows_per_tile, 0);
  EXPECT_GT(e.keys_per_tile, 0);
  EXPECT_EQ(e.keys_per_block % e.keys_per_tile, 0);
  EXPECT_EQ(e.rows_per_item % e.rows_per_tile, 0);
}

TEST(Explain, CausalVisitsAboutHalfOfASquare) {
  const ProblemShape square{2, 2, 1, 2048, 2048, 64, 64};
  for (const Causal causal : {Causal::top_left, Causal::bottom_right}) {
    const Explanation e = ask({.shape = square, .options = aligned(causal)});
    EXPECT_GE(share(e), 0.5);
    EXPECT_LE(share(e), 0.52);
  }
}

TEST(Explain, CausalFollowsTheAlignmentOfAnOblong) {
  // Top left: 512 rows see at most the first quarter of 2048 keys. Bottom right: the last rows.
  const ProblemShape oblong{1, 1, 1, 512, 2048, 64, 64};
  EXPECT_NEAR(share(ask({.shape = oblong, .options = aligned(Causal::top_left)})), 0.125, 0.02);
  EXPECT_NEAR(share(ask({.shape = oblong, .options = aligned(Causal::bottom_right)})), 0.875, 0.02);
  EXPECT_EQ(share(ask({.shape = oblong, .options = aligned(Causal::none)})), 1);
}

TEST(Explain, RowsThatSeeNothingVisitNothing) {
  const std::int64_t hidden[] = {-100};
  Options options = aligned(Causal::top_left);
  options.q_offset = hidden;
  const Explanation e = ask({.shape = {1, 1, 1, 100, 100, 8, 8}, .options = options});
  EXPECT_EQ(e.tiles_visited, 0);
  EXPECT_GT(e.tiles_total, 0);
}

TEST(Explain, CountsItemsOfChosenRows) {
  const std::int64_t rows[] = {0, 63, 5};
  Question question{.shape = {2, 2, 1, 64, 64, 8, 8}, .weights = true};
  EXPECT_EQ(ask(question).weights_items, 0);  // the main items write all weights
  question.options.rows = rows;
  EXPECT_EQ(ask(question).weights_items, 4);  // one for each of the four heads
}

TEST(Explain, ScratchDoesNotGrowWithKeys) {
  const ProblemShape few{1, 1, 1, 1000, 1000, 64, 64}, many{1, 1, 1, 1000, 1'000'000, 64, 64};
  EXPECT_EQ(ask({.shape = few}).scratch_bytes, ask({.shape = many}).scratch_bytes);
}

TEST(Explain, LargeProblemsTakeTheThreadsTheyMay) {
  Question question{.shape = {1, 8, 1, 1024, 1024, 64, 64}, .threads = 3};
  EXPECT_EQ(ask(question).threads, 3);
  question.options.threads = 2;
  EXPECT_EQ(ask(question).threads, 2);
  question.shape = {1, 1, 1, 8, 8, 8, 8};
  EXPECT_EQ(ask(question).threads, 1);
}

TEST(Explain, RefusesWhatForwardRefuses) {
  const float value = 1;
  const ConstTensor q = view(&value, {1, 1, 1, 1});
  ConstTensor k = q;
  k.shape[3] = 2;
  Explanation explanation;
  explanation.isa = "as it was";
  const Context context(1);
  const Status refused = explain(context, q, k, q, {}, {}, explanation);
  EXPECT_EQ(refused.code(), StatusCode::invalid_argument);
  EXPECT_EQ(refused.message(), forward(context, q, k, q, {}).message());
  EXPECT_EQ(explanation.isa, "as it was");
}

}  // namespace
}  // namespace regard::test

// What a report says of types: against the definition, and where the numbers are known.
#include <limits>
#include <utility>

#include "check/kv_definition.h"
#include "support/random_options.h"

namespace regard::test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <class T>
KvReport report_of(const Inputs<T>& in, const KvTypes& types, const Options& options = {},
                   const KvReportSettings& settings = {}) {
  KvReport report;
  const Status status =
      report_kv(in.q.view(), in.k.view(), in.v.view(), types, options, settings, report);
  EXPECT_TRUE(status.ok()) << status.message();
  return report;
}

TEST(KvReport, FollowsTheDefinitionForEveryTypeAndOption) {
  constexpr ProblemShape shapes[] = {{2, 2, 2, 5, 7, 32, 64}, {1, 1, 3, 9, 40, 64, 32}};
  std::uint64_t seed = 0;
  for (const ProblemShape& shape : shapes) {
    for (const KvType type : kKvTypes) {
      const KvType other = kKvTypes[++seed % std::size(kKvTypes)];
      SCOPED_TRACE(testing::Message()
                   << shape << ' ' << kv_type_name(type) << ' ' << kv_type_name(other));
      const auto in = random_inputs<double>(shape, seed);
      const Inputs<double> stored{in.q, stored_numbers(type, in.k), stored_numbers(other, in.v)};
      const RandomOptions random(shape, seed);
      const Loops<long double> loops(shape, random.options);
      expect_defined({in, stored, loops}, report_of(in, {type, other}, random.options));
    }
  }
}

TEST(KvReport, StoredAsTheyAreNumbersChangeNothing) {
  const ProblemShape shape{2, 2, 2, 5, 70, 32, 32};
  const auto in = random_inputs<float>(shape, 3);
  for (const KvRowReport& row : report_of(in, {KvType::f32, KvType::f32}).rows) {
    EXPECT_TRUE(row.out_error == 0 && row.logit_shift == 0 && row.entropy_change == 0 &&
                row.weight_moved == 0 && row.visible == 70 && row.logit_key == 0);
  }
  // Only V: scores and weights are as they were.
  for (const KvRowReport& row : report_of(in, {KvType::f32, KvType::int8}).rows) {
    EXPECT_TRUE(row.out_error > 0 && row.logit_shift == 0 && row.entropy_change == 0 &&
                row.weight_moved == 0);
  }
}

/// One query and two keys, D = 2, Dv = 1: the first key is (127, x), which int8 stores as (127, 0)
/// for |x| < 0.5, the other 0. With q = (0, 1) scores are x and 0, then both 0.
Inputs<float> two_keys(float x) {
  Inputs<float> in{TestTensor<float>({1, 1, 1, 2}), TestTensor<float>({1, 1, 2, 2}),
                   TestTensor<float>({1, 1, 2, 1})};
  const float q[] = {0, 1}, k[] = {127, x, 0, 0}, v[] = {1, -1};
  std::ranges::copy(q, in.q.data());
  std::ranges::copy(k, in.k.data());
  std::ranges::copy(v, in.v.data());
  return in;
}

TEST(KvReport, TheShiftOfAKnownKey) {
  for (const double scale : {1.0, -3.0}) {
    for (const double softcap : {0.0, 0.5}) {
      const auto in = two_keys(0.25F);
      const double score = scale * 0.25;
      const double logit = softcap > 0 ? softcap * std::tanh(score / softcap) : score;
      TestTensor<float> bias({1, 1, 1, 2});  // both sides have it: the weights are those without
      bias.at(0, 0, 0, 0) = bias.at(0, 0, 0, 1) = 1e6F;
      Options options;
      options.scale = scale;
      options.softcap = softcap;
      options.bias = bias.view();
      const KvReport report = report_of(in, {KvType::int8, KvType::f32}, options);
      const KvRowReport& row = report.rows.at(0);
      EXPECT_NEAR(row.logit_shift, std::fabs(logit), 1e-15);
      EXPECT_EQ(row.logit_key, 0);
      // The bias of 1e6 leaves 2^-33 of a score: weights are so far off, on both sides.
      const double p = 1 / (1 + std::exp(-logit)), coarse = 0x1p-32;
      EXPECT_NEAR(row.out_error, 1, coarse);  // tanh(logit / 2) became 0
      EXPECT_NEAR(row.weight_moved, std::fabs(p - 0.5), coarse);
      EXPECT_NEAR(row.weight_moved, std::tanh(row.logit_shift / 2) / 2, coarse);
      EXPECT_NEAR(row.entropy_change, std::log(2) + p * std::log(p) + (1 - p) * std::log(1 - p),
                  coarse);
    }
  }
}

TEST(KvReport, ASinkTakesPartOfWhatMoves) {
  const auto in = two_keys(0.25F);
  const double sink = 0.5;
  Options options;
  options.scale = 1;
  options.sinks = view_per_head(&sink, 1);
  const KvRowReport row = report_of(in, {KvType::int8, KvType::f32}, options).rows.at(0);
  const double before = std::exp(0.25) + 1 + std::exp(0.5), after = 2 + std::exp(0.5);
  const double lost = std::exp(0.25) / before - 1 / after;  // by the first key, to the others
  EXPECT_NEAR(row.weight_moved, lost, 1e-15);
}

TEST(KvReport, AnOutputThatWasZero) {
  // Weights of 1/4 each; the second column sums to 0 exactly, and to 0.5 as int8.
  auto in = Inputs<float>{TestTensor<float>({1, 1, 1, 1}), TestTensor<float>({1, 1, 4, 1}),
                          TestTensor<float>({1, 1, 4, 2})};
  const float v[] = {127, 0.75F, -127, -0.25F, 0, -0.5F, 0, 0};
  in.q.at(0, 0, 0, 0) = 0;
  std::fill_n(in.k.data(), 4, 1.0F);
  std::ranges::copy(v, in.v.data());
  EXPECT_EQ(report_of(in, {KvType::f32, KvType::int8}).rows.at(0).out_error, kInfinity);
  std::fill_n(in.v.data(), 8, 0.0F);
  EXPECT_EQ(report_of(in, {KvType::f32, KvType::int8}).rows.at(0).out_error, 0);
}

TEST(KvReport, NumbersWhoseSquaresLeaveTheRange) {
  auto in = random_inputs<double>({1, 1, 1, 3, 5, 32, 8}, 1);
  const auto error_of = [&](double size) {
    for (std::int64_t n = 0; n < 5 * 8; ++n) in.v.data()[n] = n % 3 == 0 ? -size : size;
    return report_of(in, {KvType::f32, KvType::f32}).all.rms_out_error;
  };
  EXPECT_NEAR(error_of(1e-200), 1, 1e-15);  // 0 as f32
  EXPECT_EQ(error_of(1e200), kInfinity);
}

// What docs/kv-cache.md says of columns that are far larger than others.
TEST(KvReport, BlocksKeepDigitsBesideALargeColumn) {
  auto in = random_inputs<float>({1, 1, 1, 20, 50, 128, 128}, 1);
  const auto ratio = [&] {
    return report_of(in, {KvType::int8, KvType::int8}).all.rms_out_error /
           report_of(in, {KvType::int8_32, KvType::int8_32}).all.rms_out_error;
  };
  EXPECT_LT(ratio(), 1.5);
  for (std::int64_t j = 0; j < 50; ++j) in.k.at(0, 0, j, 5) *= 30;
  for (std::int64_t i = 0; i < 20; ++i) in.q.at(0, 0, i, 5) = 0;  // the column itself adds nothing
  EXPECT_GT(ratio(), 2);
}

TEST(KvReport, RowsWithoutKeysAreZeroAndCountedApart) {
  const auto in = random_inputs<float>({1, 1, 1, 5, 3, 32, 32}, 1);
  Options options;
  options.causal = Causal::bottom_right;  // rows 0 and 1 stand before the first key
  const KvReport report = report_of(in, {KvType::q4_0, KvType::q4_0}, options);
  for (std::size_t i = 0; i < 2; ++i) {
    const KvRowReport& row = report.rows.at(i);
    EXPECT_TRUE(row.visible == 0 && row.out_error == 0 && row.logit_shift == 0 &&
                row.entropy_change == 0 && row.weight_moved == 0 && row.logit_key == -1);
  }
  EXPECT_TRUE(report.all.rows == 3 && report.all.rows_empty == 2 && report.all.rows_undefined == 0);
}

TEST(KvReport, WhatIsNotFiniteIsTold) {
  auto in = random_inputs<float>({1, 1, 1, 3, 3, 32, 32}, 1);
  Options options;
  options.causal = Causal::top_left;
  in.v.at(0, 0, 1, 4) = 1e5F;  // row 1 on: infinite as f16
  KvReport report = report_of(in, {KvType::f16, KvType::f16}, options);
  EXPECT_LT(report.rows.at(0).out_error, 1e-3);
  EXPECT_EQ(report.rows.at(1).out_error, kInfinity);
  EXPECT_LT(report.rows.at(1).logit_shift, 1e-2);
  EXPECT_EQ(report.all.rms_out_error, kInfinity);
  EXPECT_EQ(report.all.out_error.i, 1);

  in.k.at(0, 0, 2, 4) = 1e5F;
  const KvRowReport spoiled = report_of(in, {KvType::f16, KvType::f32}, options).rows.at(2);
  EXPECT_EQ(spoiled.out_error, kInfinity);
  EXPECT_TRUE(spoiled.logit_shift == kInfinity && spoiled.logit_key == 2);
  EXPECT_TRUE(spoiled.entropy_change == kInfinity && spoiled.weight_moved == kInfinity);

  in.k.at(0, 0, 2, 4) = std::numeric_limits<float>::quiet_NaN();
  report = report_of(in, {KvType::int8, KvType::int8}, options);
  const KvRowReport& undefined = report.rows.at(2);
  EXPECT_TRUE(std::isnan(undefined.out_error) && std::isnan(undefined.logit_shift) &&
              std::isnan(undefined.entropy_change) && std::isnan(undefined.weight_moved));
  EXPECT_TRUE(report.all.rows == 2 && report.all.rows_undefined == 1);
  EXPECT_TRUE(std::isfinite(report.all.rms_out_error));
}

void expect_summary(const KvReport& report, const KvSummary& summary) {
  double squares = 0, changes = 0;
  KvWorst out, logit, entropy, moved;
  const auto raise = [](double value, const KvRowReport& row, KvWorst& worst) {
    if (std::fabs(value) > std::fabs(worst.value)) worst = {value, row.b, row.h, row.i};
  };
  std::int64_t rows = 0;
  for (const KvRowReport& row : report.rows) {
    if (summary.b >= 0 && (row.b != summary.b || row.h != summary.h)) continue;
    ++rows;
    squares += row.out_error * row.out_error;
    changes += row.entropy_change;
    raise(row.out_error, row, out);
    raise(row.logit_shift, row, logit);
    raise(row.entropy_change, row, entropy);
    raise(row.weight_moved, row, moved);
  }
  EXPECT_EQ(summary.rows, rows);
  EXPECT_NEAR(summary.rms_out_error, std::sqrt(squares / double(rows)), 1e-15);
  EXPECT_NEAR(summary.mean_entropy_change, changes / double(rows), 1e-15);
  for (const auto& [expected, actual] :
       {std::pair{&out, &summary.out_error}, std::pair{&logit, &summary.logit_shift},
        std::pair{&entropy, &summary.entropy_change}, std::pair{&moved, &summary.weight_moved}}) {
    EXPECT_EQ(actual->value, expected->value);
    EXPECT_TRUE(actual->b == expected->b && actual->h == expected->h && actual->i == expected->i);
  }
}

TEST(KvReport, HeadsAreSummedUp) {
  const auto in = random_inputs<float>({2, 2, 2, 9, 20, 32, 32}, 5);
  const KvReport report = report_of(in, {KvType::int4_32, KvType::fp8_e4m3});
  ASSERT_EQ(report.heads.size(), 8U);
  for (std::size_t n = 0; n < 8; ++n) {
    EXPECT_TRUE(report.heads[n].b == std::int64_t(n / 4) &&
                report.heads[n].h == std::int64_t(n % 4));
    expect_summary(report, report.heads[n]);
  }
  EXPECT_TRUE(report.all.b == -1 && report.all.h == -1);
  expect_summary(report, report.all);
}

TEST(KvReport, LayoutAndTypeOfTheInputsDoNotMatter) {
  const ProblemShape shape{2, 2, 2, 5, 20, 32, 64};
  const auto in = random_inputs<float>(shape, 7).copy<BF16>();
  const auto expected = report_of(in, {KvType::int8_32, KvType::int8});
  for (const Layout layout : kInputLayouts) {
    const auto q = in.q.copy<F16>(layout);  // 8 bits of bf16 fit, and no number here is tiny
    const auto k = in.k.copy<double>(layout);
    const auto v = in.v.copy(layout);
    KvReport report;
    const Status status =
        report_kv(q.view(), k.view(), v.view(), {KvType::int8_32, KvType::int8}, {}, {}, report);
    ASSERT_TRUE(status.ok()) << status.message();
    for (std::size_t n = 0; n < report.rows.size(); ++n) {
      EXPECT_NEAR(report.rows[n].out_error, expected.rows[n].out_error, 1e-12);
      EXPECT_NEAR(report.rows[n].logit_shift, expected.rows[n].logit_shift, 1e-12);
    }
  }
}

TEST(KvReport, NothingToReport) {
  for (const ProblemShape& shape : {ProblemShape{0, 1, 1, 4, 4, 32, 32},
                                    {1, 0, 1, 4, 4, 32, 32},
                                    {1, 2, 1, 0, 4, 32, 32},
                                    {1, 2, 1, 4, 0, 32, 32}}) {
    const KvReport report = report_of(random_inputs<float>(shape, 1), {KvType::int8, KvType::q4_0});
    EXPECT_EQ(std::int64_t(report.heads.size()), shape.batch * shape.heads());
    EXPECT_TRUE(report.all.rows == 0 && report.all.out_error.i == -1);
  }
}

TEST(KvReport, ASampleAndItsProgress) {
  const auto in = random_inputs<float>({1, 2, 1, 20, 20, 32, 32}, 1);
  const KvReport whole = report_of(in, {});
  std::vector<std::int64_t> done;
  const KvReportSettings settings{.rows = 7, .seed = 3, .progress = [&](auto n, auto total) {
                                    EXPECT_EQ(total, 7);
                                    done.push_back(n);
                                    return true;
                                  }};
  const KvReport report = report_of(in, {}, {}, settings);
  ASSERT_EQ(report.rows.size(), 7U);
  EXPECT_EQ(report.all.rows, 7);
  for (const KvRowReport& row : report.rows) {
    EXPECT_EQ(row.out_error, whole.rows.at(std::size_t(row.h * 20 + row.i)).out_error);
  }
  EXPECT_TRUE(done.size() >= 2 && done.front() == 0 && done.back() == 7);
}

TEST(KvReport, ARefusedCallLeavesTheReport) {
  const auto in = random_inputs<float>({1, 2, 1, 4, 4, 8, 32}, 1);
  const auto k = in.k.view(), v = in.v.view();
  KvReport report;
  report.rows.resize(77);
  const auto refused = [&](const ConstTensor& theirs, const KvTypes& types,
                           const KvReportSettings& settings, StatusCode code,
                           const char* sentence) {
    const Status status = report_kv(in.q.view(), theirs, v, types, {}, settings, report);
    EXPECT_EQ(status.code(), code);
    EXPECT_EQ(status.message(), sentence);
    EXPECT_EQ(report.rows.size(), 77U);
  };
  constexpr auto kInvalid = StatusCode::invalid_argument;
  ConstTensor wrong = k;
  wrong.shape[3] = 7;
  refused(wrong, {}, {}, kInvalid, "k: head size 7 differs from q's 8");
  wrong = k;
  wrong.dtype = DType::boolean;
  refused(wrong, {}, {}, kInvalid, "k: dtype bool is none of f64, f32, f16 and bf16");
  refused(k, {KvType::int4_32, KvType::f16}, {}, kInvalid,
          "k_head_size: 8 is not a multiple of 32, the block of int4_32");
  refused(k, {KvType::f16, KvType(77)}, {}, kInvalid, "v_type: 77 is not in 0 to 9");
  refused(k, {}, {.rows = -1}, kInvalid, "rows: -1 is below 0");
  refused(k, {}, {.progress = [](auto, auto) { return false; }}, StatusCode::cancelled,
          "the progress hook stopped the call");
}

}  // namespace
}  // namespace regard::test

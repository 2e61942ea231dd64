// The blocked lab: attention tile by tile beside the plain form and the engine, at the sizes of
// the NumPy program and at those that it refuses.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <random>
#include <span>

#include "engine.h"
#include "lab.h"
#include "random.h"
#include "regard/lab.h"
#include "shipped.h"
#include "text.h"

namespace regard::cli {
namespace {

using lab::BlockedInput;

constexpr double kAllowed = 1e-7;  // what the program asks for
constexpr double kScale = 1;

struct Size {
  std::int64_t batch, sq, skv, d, dv, block;
  const char* why;
};

constexpr Size kSizes[] = {
    {1, 10, 10, 16, 16, 4, "length no multiple of 4"},
    {1, 5, 13, 32, 32, 4, "Sq differs from Skv"},
    {3, 8, 8, 128, 128, 4, "batch 3"},
    {2, 9, 17, 16, 24, 8, "Dv differs from D"},
    {1, 37, 61, 32, 40, 1, "from one key at a time"},
    {1, 37, 61, 32, 40, 2, ""},
    {1, 37, 61, 32, 40, 3, ""},
    {1, 37, 61, 32, 40, 5, ""},
    {1, 37, 61, 32, 40, 16, ""},
    {1, 37, 61, 32, 40, 37, ""},
    {1, 37, 61, 32, 40, 64, "to all at once"},
};

BlockedInput random_problem(const Size& size, std::mt19937_64& engine) {
  BlockedInput in{size.batch, size.sq, size.skv, size.d, size.dv, {}, {}, {}};
  in.q = normal_numbers<double>(in.batch * in.sq * in.d, engine);
  in.k = normal_numbers<double>(in.batch * in.skv * in.d, engine);
  in.v = normal_numbers<double>(in.batch * in.skv * in.dv, engine);
  return in;
}

/// The three forms side by side.
struct Comparison {
  std::vector<double> plain, blocked;
  EngineResult f64, f32;

  double blocked_difference() const { return largest_difference(plain, blocked); }
  double engine_difference() const { return largest_difference(plain, f64.out); }
  bool agrees() const {
    return blocked_difference() <= kAllowed && engine_difference() <= kAllowed &&
           f64.check.passed && f32.check.passed;
  }
};

Comparison compare(const BlockedInput& in, std::int64_t block) {
  Comparison result;
  require(lab::plain_attention(in, kScale, result.plain));
  require(lab::blocked_attention(in, kScale, block, result.blocked));
  const Problem problem{{in.batch, 1, in.sq, in.d},
                        {in.batch, 1, in.skv, in.d},
                        {in.batch, 1, in.skv, in.dv},
                        in.q,
                        in.k,
                        in.v};
  Options options;
  options.scale = kScale;
  result.f64 = run_engine(DType::f64, problem, options);
  result.f32 = run_engine(DType::f32, problem, options);
  return result;
}

void print_first(const char* name, std::span<const double> values) {
  constexpr std::size_t kFirst = 10, kPerLine = 5;
  for (std::size_t n = 0; n < std::min(kFirst, values.size()); n += kPerLine) {
    const auto line = values.subspan(n, std::min(kPerLine, values.size() - n));
    fmt::print("  {:<8} {:11.8f}\n", n == 0 ? name : "", fmt::join(line, " "));
  }
}

void show_own_input(std::int64_t block, Report& report) {
  const std::vector<io::NamedArray> shipped = shipped_arrays(Shipped::blocked);
  const auto& shape = array_named(shipped, "q").shape;
  const auto values = [&](const char* name) { return values_of(array_named(shipped, name)); };
  const BlockedInput in{shape.at(0), shape.at(1), shape.at(1), shape.at(2),
                        shape.at(2), values("q"), values("k"), values("v")};
  const Comparison c = compare(in, block);
  fmt::print(
      "blocked attention: softmax(q k') v, tile by tile with a running maximum and sum\n"
      "q, k, v {}, block {}, shipped input; the first ten values\n",
      shape_text(shape), block);
  print_first("plain", c.plain);
  print_first("blocked", c.blocked);
  fmt::print("\n");
  report.claim(c.agrees(), "plain, blocked and engine agree to 1e-7",
               fmt::format("from plain, blocked differs by {}, the engine by {} in f64;\nin f32 "
                           "the engine errs by {:.2f} of its bound",
                           in_ulp(c.blocked_difference(), c.plain),
                           in_ulp(c.engine_difference(), c.plain), c.f32.check.worst_units));
  const double recorded = std::max(largest_difference(c.plain, values("out")),
                                   largest_difference(c.blocked, values("block_out")));
  report.claim(recorded <= kAllowed, "equal to what NumPy recorded",
               fmt::format("largest difference {}", in_ulp(recorded, c.plain)));
}

void show_other_sizes(const BlockedLab& lab, Report& report) {
  fmt::print(
      "\nsizes that the NumPy form refuses: f64 as it differs from plain, f32 in units of its "
      "bound\n"
      "   B   Sq  Skv    D   Dv block      blocked f64       engine f64   f32\n");
  std::mt19937_64 engine(lab.seed);
  for (Size size : kSizes) {
    size.block = lab.block.value_or(size.block);
    const Comparison c = compare(random_problem(size, engine), size.block);
    report.count(c.agrees());
    fmt::print("{:>4} {:>4} {:>4} {:>4} {:>4} {:>5} {:>16} {:>16} {:>5.2f}  {}", size.batch,
               size.sq, size.skv, size.d, size.dv, size.block,
               in_ulp(c.blocked_difference(), c.plain), in_ulp(c.engine_difference(), c.plain),
               c.f32.check.worst_units, c.agrees() ? "PASS" : "FAIL");
    fmt::print("{}{}\n", *size.why == 0 ? "" : "  ", size.why);
  }
}

}  // namespace

void show_blocked_lab(const BlockedLab& lab, Report& report) {
  show_own_input(lab.block.value_or(4), report);
  show_other_sizes(lab, report);
}

}  // namespace regard::cli

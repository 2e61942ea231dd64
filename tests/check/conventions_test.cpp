// A result that follows another convention is named rightly. The wrong results come from plain
// loops in which one step is replaced, so that the checker is not judged by its own oracle.
#include "check/conventions.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "check/judged.h"
#include "support/loops.h"

namespace regard::test {
namespace {

using Wrong = Loops<double>;
constexpr ProblemShape kShape{2, 2, 2, 6, 9, 16, 8};
constexpr std::int64_t kOffset[] = {2}, kRows[] = {6, 4}, kKeys[] = {7, 9};

/// Memory of the options that the cases choose from.
struct Memory {
  TestTensor<double> bias = normal_tensor<double>({1, 4, 6, 9}, 31);
  TestTensor<double> slopes = uniform_tensor<double>({1, 4, 1, 1}, 32, 0.1, 0.5);
  TestTensor<double> sinks = normal_tensor<double>({1, 4, 1, 1}, 33);
  std::vector<unsigned char> mask;
  Memory() {
    for (int n = 0; n < 2 * 6 * 9; ++n) mask.push_back(n % 9 == 0 || n * n % 7 < 4);
  }
  ConstTensor mask_view() const {
    const Shape shape{2, 1, 6, 9};
    return {mask.data(), DType::boolean, shape, dense_strides(shape)};
  }
};

const Memory& memory() {
  static const Memory memory;
  return memory;
}

using Ask = void (*)(Options&);

void with_mask(Options& o) {
  o.mask = memory().mask_view();
}
void with_bias(Options& o) {
  o.bias = memory().bias.view();
}
void with_alibi(Options& o) {
  o.alibi_slopes = memory().slopes.view();
}
void with_sinks(Options& o) {
  o.sinks = memory().sinks.view();
}
void with_softcap(Options& o) {
  o.softcap = 0.8;
}
void causal_softcap(Options& o) {
  o.softcap = 0.8;
  o.causal = Causal::bottom_right;
}
void capped_bias(Options& o) {
  o.softcap = 0.8;
  with_bias(o);
}
void top_left(Options& o) {
  o.causal = Causal::top_left;
}
void bottom_right(Options& o) {
  o.causal = Causal::bottom_right;
}
void with_offset(Options& o) {
  o.causal = Causal::top_left;
  o.q_offset = kOffset;
}
void with_window(Options& o) {
  o.window = {2, 2};
}
void with_kv_len(Options& o) {
  o.kv_len = kKeys;
}
void with_q_len(Options& o) {
  o.q_len = kRows;
}
void plain(Options&) {}

struct Mistake {
  const char* name;  ///< what the checker must say
  Ask ask;
  void (*make)(Wrong& wrong);
};

void set_scale(Wrong& w, double scale) {
  w.score = [&w, scale](double dot, LoopRow r, std::int64_t j) {
    return w.biased(w.capped(scale * dot), r, j);
  };
}
constexpr double kScale = 0.25;  // 1/sqrt(16)

const Mistake kMistakes[] = {
    {"causal=none", bottom_right, [](Wrong& w) { w.options.causal = Causal::none; }},
    {"causal=top_left", bottom_right, [](Wrong& w) { w.options.causal = Causal::top_left; }},
    {"causal=top_left", plain, [](Wrong& w) { w.options.causal = Causal::top_left; }},
    {"causal=bottom_right", top_left, [](Wrong& w) { w.options.causal = Causal::bottom_right; }},
    {"q_offset=none", with_offset, [](Wrong& w) { w.options.q_offset = {}; }},
    {"alignment=bottom_right", with_window,
     [](Wrong& w) { w.position = [](LoopRow r) { return r.i + 3; }; }},
    {"alignment=bottom_right", with_alibi,
     [](Wrong& w) { w.position = [](LoopRow r) { return r.i + 3; }; }},
    {"alignment=padded",
     [](Options& o) {
       bottom_right(o);
       with_kv_len(o);
     },
     [](Wrong& w) { w.position = [](LoopRow r) { return r.i + 3; }; }},
    {"scale=1", plain, [](Wrong& w) { set_scale(w, 1); }},
    {"scale=1/D", plain, [](Wrong& w) { set_scale(w, 1 / 16.0); }},
    {"scale=1/sqrt(Dv)", plain, [](Wrong& w) { set_scale(w, 1 / std::sqrt(8.0)); }},
    {"scale=default", [](Options& o) { o.scale = 0.7; }, [](Wrong& w) { set_scale(w, kScale); }},
    {"scale=twice", [](Options& o) { o.scale = 0.7; }, [](Wrong& w) { set_scale(w, 0.7 * 0.7); }},
    {"groups=tiled", plain, [](Wrong& w) { w.kv_head = [](std::int64_t h) { return h % 2; }; }},
    {"window=none", with_window, [](Wrong& w) { w.options.window = {}; }},
    {"window.left=-1", with_window, [](Wrong& w) { w.options.window.left = 1; }},
    {"window.left=+1", with_window, [](Wrong& w) { w.options.window.left = 3; }},
    {"window.right=-1", with_window, [](Wrong& w) { w.options.window.right = 1; }},
    {"window.right=+1", with_window, [](Wrong& w) { w.options.window.right = 3; }},
    {"mask=none", with_mask, [](Wrong& w) { w.options.mask = {}; }},
    {"mask=inverted", with_mask,
     [](Wrong& w) {
       w.sees = [](LoopRow r, std::int64_t j) {
         return broadcast_at(memory().mask_view(), r.b, r.h, r.i, j) == 0;
       };
     }},
    {"softcap=none", with_softcap, [](Wrong& w) { w.options.softcap = 0; }},
    {"softcap=after_bias", capped_bias,
     [](Wrong& w) {
       w.score = [&w](double dot, LoopRow r, std::int64_t j) {
         return w.capped(w.biased(kScale * dot, r, j));
       };
     }},
    {"softcap=after_mask", causal_softcap,
     [](Wrong& w) {
       w.score = [&w, sees = w.sees](double dot, LoopRow r, std::int64_t j) {
         return sees(r, j) ? w.capped(kScale * dot) : -w.options.softcap;
       };
       w.sees = [](LoopRow, std::int64_t) { return true; };
     }},
    {"bias=none", with_bias, [](Wrong& w) { w.options.bias = {}; }},
    {"bias=scaled", with_bias,
     [](Wrong& w) {
       w.score = [&w](double dot, LoopRow r, std::int64_t j) {
         return kScale * (dot + w.bias(r, j));
       };
     }},
    {"alibi=none", with_alibi, [](Wrong& w) { w.options.alibi_slopes = {}; }},
    {"alibi=rising", with_alibi,
     [](Wrong& w) {
       w.score = [&w](double dot, LoopRow r, std::int64_t j) {
         return kScale * dot + w.slope(r) * double(std::abs(r.i - j));
       };
     }},
    {"alibi=one_way", with_alibi,
     [](Wrong& w) {
       w.score = [&w](double dot, LoopRow r, std::int64_t j) {
         return kScale * dot + w.slope(r) * double(j - r.i);
       };
     }},
    {"sinks=none", with_sinks, [](Wrong& w) { w.options.sinks = {}; }},
    {"sinks=scaled", with_sinks,
     [](Wrong& w) {
       w.sink = [](std::int64_t h) { return kScale * memory().sinks.at(0, h, 0, 0); };
     }},
    {"kv_len=none", with_kv_len, [](Wrong& w) { w.options.kv_len = {}; }},
    {"q_len=none", with_q_len, [](Wrong& w) { w.options.q_len = {}; }},
    {"lse=base2", plain,
     [](Wrong& w) {
       w.lse = [](double l, double m, double) { return (m + std::log(l)) / std::log(2.0); };
     }},
    {"lse=unscaled_max", plain,
     [](Wrong& w) {
       w.lse = [](double l, double, double largest) { return largest + std::log(l); };
     }},
    // Two at once.
    {"scale=1, lse=base2", plain,
     [](Wrong& w) {
       set_scale(w, 1);
       w.lse = [](double l, double m, double) { return (m + std::log(l)) / std::log(2.0); };
     }},
    {"causal=top_left, groups=tiled", bottom_right,
     [](Wrong& w) {
       w.options.causal = Causal::top_left;
       w.kv_head = [](std::int64_t h) { return h % 2; };
     }},
    {"window.left=-1, sinks=none",
     [](Options& o) {
       with_window(o);
       with_sinks(o);
     },
     [](Wrong& w) {
       w.options.window.left = 1;
       w.options.sinks = {};
     }},
};

template <class T>
CheckReport report_of(const ProblemShape& shape, const Mistake& mistake) {
  const auto in = random_inputs<T>(shape, 21);
  Options options;
  mistake.ask(options);
  Wrong wrong(shape, options);
  mistake.make(wrong);
  const LoopResult<T> result = run_loops(wrong, in);
  return judge(in, options, result.out, result.lse);
}

class Named : public testing::TestWithParam<Mistake> {};

TEST_P(Named, ByWhatItFollows) {
  for (const CheckReport& report :
       {report_of<float>(kShape, GetParam()), report_of<double>(kShape, GetParam())}) {
    EXPECT_FALSE(report.passed);
    EXPECT_EQ(report.convention.name, GetParam().name);
    EXPECT_EQ(report.convention.sentence.rfind("this kernel ", 0), 0U);
    EXPECT_GT(report.convention.rows_fitted, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Conventions, Named, testing::ValuesIn(kMistakes), [](const auto& mistake) {
  std::string name = std::to_string(mistake.index) + "_";
  for (const char c : std::string(mistake.param.name))
    name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
});

/// Those that show in results: convention_results_test.cpp.
TEST(Conventions, EachOfThemIsMadeByAMistake) {
  for (const judging::Alternative& known : judging::alternatives()) {
    const std::string name = known.name;
    if (name.rfind("layout=", 0) == 0 || name.rfind("empty=", 0) == 0) continue;
    if (name == "lse=unscaled" || name == "lse=without_sink") continue;
    EXPECT_TRUE(std::ranges::any_of(kMistakes, [&](const Mistake& m) { return name == m.name; }))
        << name;
  }
}

}  // namespace
}  // namespace regard::test

// Random calls in any order against a plain model: contents, pages and bytes are always what the
// model says, and a call fails exactly where it should. RC_PARAMS="max_success=N" sets the number
// of histories.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <array>

#include "cache/definition.h"
#include "cache/model.h"
#include "cache/tokens.h"

namespace regard::test {
namespace {

struct Step {
  enum Kind { add, append, fork, trim, remove, gather } kind;
  std::uint32_t which;  ///< of the living sequences
  std::int64_t amount;
  std::uint32_t seed;
};

// NOLINTNEXTLINE(readability-identifier-naming): the name that RapidCheck looks for
void showValue(const Step& step, std::ostream& stream) {
  constexpr const char* kNames[] = {"add", "append", "fork", "trim", "remove", "gather"};
  stream << kNames[step.kind] << " #" << step.which << " " << step.amount << " seed " << step.seed;
}

rc::Gen<Step> any_step() {
  using Kind = Step::Kind;
  const auto kind = rc::gen::weightedElement<Kind>({{2, Step::add},
                                                    {8, Step::append},
                                                    {3, Step::fork},
                                                    {4, Step::trim},
                                                    {1, Step::remove},
                                                    {1, Step::gather}});
  const auto amount = rc::gen::weightedOneOf<std::int64_t>(
      {{5, rc::gen::inRange<std::int64_t>(0, 20)}, {1, rc::gen::inRange<std::int64_t>(20, 150)}});
  return rc::gen::build<Step>(
      rc::gen::set(&Step::kind, kind), rc::gen::set(&Step::which, rc::gen::inRange(0U, 8U)),
      rc::gen::set(&Step::amount, amount), rc::gen::set(&Step::seed, rc::gen::inRange(0U, 1000U)));
}

KvCacheOptions any_options() {
  KvCacheOptions options;
  options.k_type = *rc::gen::elementOf(std::to_array(kKvTypes));
  options.v_type = *rc::gen::elementOf(std::to_array(kKvTypes));
  options.kv_heads = *rc::gen::inRange<std::int64_t>(1, 3);
  options.k_head_size = kv_block(options.k_type) * *rc::gen::inRange<std::int64_t>(1, 3);
  options.v_head_size = kv_block(options.v_type) * *rc::gen::inRange<std::int64_t>(1, 3);
  options.page_tokens = 16 * *rc::gen::inRange<std::int64_t>(1, 4);
  options.pages = *rc::gen::inRange<std::int64_t>(1, 14);
  if (*rc::gen::inRange(0, 3) > 0) {
    options.window = *rc::gen::inRange<std::int64_t>(1, 60);
    options.spare = *rc::gen::inRange<std::int64_t>(0, 12);
  }
  options.keep_first = *rc::gen::element<std::int64_t>(0, 0, 3, 16, 17, 40);
  return options;
}

/// The cache under test and its model, led through the same steps.
class Pair {
 public:
  explicit Pair(const KvCacheOptions& options) : cache_(make_cache(options)), model_{options, {}} {}

  void take(const Step& step) {
    const auto number = pick(step.which);
    switch (step.kind) {
      case Step::add:
        return add();
      case Step::append:
        return append_any(number, step);
      case Step::fork:
        return fork(number);
      case Step::trim:
        return trim(number, step);
      case Step::remove:
        return remove(number);
      case Step::gather:
        return gather(number, step);
    }
  }

  void check() const {
    const std::int64_t used = model_.pages_used();
    RC_ASSERT(cache_.free_pages() == model_.options.pages - used);
    RC_ASSERT(cache_.bytes_used() == used * model_.bytes_of_page());
    for (const auto& [number, s] : model_.sequences) {
      const std::int64_t held = model_.held_from(s.length());
      RC_ASSERT(cache_.length(number) == s.length());
      RC_ASSERT(cache_.held_from(number) == held);
      check_tokens(number, s, 0, std::min(model_.options.keep_first, s.length()));
      if (held < s.length()) check_tokens(number, s, held, s.length());
    }
  }

 private:
  /// A living sequence, or where there is none a number that must be refused.
  std::int64_t pick(std::uint32_t which) const {
    if (model_.sequences.empty()) return which;
    return std::next(model_.sequences.begin(), which % model_.sequences.size())->first;
  }
  bool lives(std::int64_t number) const { return model_.sequences.contains(number); }

  void add() {
    std::int64_t number = -1;
    RC_ASSERT(cache_.add(number).ok());
    RC_ASSERT(number >= 0 && !lives(number));
    model_.sequences[number];
  }

  void append_any(std::int64_t number, const Step& step) {
    const Layout layout = kInputLayouts[step.seed % std::size(kInputLayouts)];
    switch (step.seed % 4) {
      case 0:
        return append_as<double>(number, step, layout);
      case 1:
        return append_as<F16>(number, step, layout);
      case 2:
        return append_as<BF16>(number, step, layout);
      default:
        return append_as<float>(number, step, layout);
    }
  }

  template <class T>
  void append_as(std::int64_t number, const Step& step, Layout layout) {
    const auto tokens = random_tokens<T>(model_.options, step.amount, step.seed, layout);
    const Status status = append(cache_, number, tokens);
    if (!lives(number)) return refused(status, StatusCode::invalid_argument);
    std::vector<ModelToken> rows;
    for (std::int64_t t = 0; t < step.amount; ++t) {
      rows.push_back({model_rows(model_.options.k_type, tokens.k, t),
                      model_rows(model_.options.v_type, tokens.v, t)});
    }
    ModelSequence& s = model_.sequences[number];
    ModelSequence before = s;
    s = model_.appended(before, std::move(rows));
    if (model_.pages_used() <= model_.options.pages) {
      RC_ASSERT(status.ok());
      return;
    }
    s = before;
    refused(status, StatusCode::out_of_memory);
  }

  void fork(std::int64_t number) {
    std::int64_t copy = -1;
    const Status status = cache_.fork(number, copy);
    if (!lives(number)) return refused(status, StatusCode::invalid_argument);
    RC_ASSERT(status.ok());
    RC_ASSERT(copy >= 0 && !lives(copy));
    model_.sequences[copy] = model_.sequences[number];
  }

  void trim(std::int64_t number, const Step& step) {
    // By a few tokens, or to a length that may be none.
    const std::int64_t length =
        step.seed % 2 == 0 ? cache_.length(number) - step.amount : step.amount;
    const Status status = cache_.trim(number, length);
    if (!lives(number)) return refused(status, StatusCode::invalid_argument);
    ModelSequence& s = model_.sequences[number];
    if (!model_.may_trim(s, length)) return refused(status, StatusCode::invalid_argument);
    RC_ASSERT(status.ok());
    model_.trim(s, length);
  }

  void remove(std::int64_t number) {
    const Status status = cache_.remove(number);
    if (!lives(number)) return refused(status, StatusCode::invalid_argument);
    RC_ASSERT(status.ok());
    model_.sequences.erase(number);
    RC_ASSERT(cache_.length(number) == -1);
  }

  /// A range that may be wrong: begin and length from the seed.
  void gather(std::int64_t number, const Step& step) {
    const std::int64_t begin = std::int64_t(step.seed % 100) - 3, end = begin + step.amount;
    Tokens to(model_.options, step.amount);
    const Status status = cache_.gather(number, begin, to.k.tensor(), to.v.tensor());
    if (!lives(number)) return refused(status, StatusCode::invalid_argument);
    const ModelSequence& s = model_.sequences[number];
    bool there = begin >= 0 && end <= s.length();
    for (std::int64_t t = begin; t < end; ++t) {
      there = there && (t < model_.options.keep_first || t >= model_.held_from(s.length()));
    }
    if (!there) return refused(status, StatusCode::invalid_argument);
    RC_ASSERT(status.ok());
  }

  static void refused(const Status& status, StatusCode code) {
    RC_ASSERT(status.code() == code);
    RC_ASSERT(!status.message().empty());
  }

  void check_tokens(std::int64_t number, const ModelSequence& s, std::int64_t begin,
                    std::int64_t end) const {
    Tokens got(model_.options, end - begin);
    RC_ASSERT(cache_.gather(number, begin, got.k.tensor(), got.v.tensor()).ok());
    for (std::int64_t t = begin; t < end; ++t) {
      const ModelToken& want = s.tokens[std::size_t(t)];
      for (std::int64_t h = 0; h < model_.options.kv_heads; ++h) {
        check_row(got.k, h, t - begin, want.k[std::size_t(h)]);
        check_row(got.v, h, t - begin, want.v[std::size_t(h)]);
      }
    }
  }

  static void check_row(const TestTensor<float>& got, std::int64_t h, std::int64_t t,
                        const std::vector<float>& want) {
    for (std::size_t d = 0; d < want.size(); ++d) {
      if (got.at(0, h, t, std::int64_t(d)) != want[d]) {
        RC_FAIL("token " + std::to_string(t) + " differs");
      }
    }
  }

  KvCache cache_;
  Model model_;
};

RC_GTEST_PROP(RandomHistories, AgreeWithThePlainModel, ()) {
  Pair pair(any_options());
  pair.take({Step::add, 0, 0, 0});
  pair.check();
  for (const Step& step : *rc::gen::container<std::vector<Step>>(any_step())) {
    pair.take(step);
    pair.check();
  }
}

}  // namespace
}  // namespace regard::test

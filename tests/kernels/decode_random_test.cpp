// Random caches and calls against the oracle over what the caches hold: element types, pages,
// ragged lengths, forks and rings; rows packed or not, trees, and every combination of options.
// What fails is made smaller number by number and option by option. RC_PARAMS="max_success=N" sets
// the number of cases.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <limits>
#include <sstream>
#include <string>

#include "base/read.h"
#include "kernels/decode_trees.h"
#include "support/random_options.h"

namespace regard::test {
namespace {

/// A sequence: a fork of an earlier one, less its last tokens, or new; then tokens of its own.
struct Branch {
  std::int64_t from = -1;
  std::int64_t dropped = 0, tokens = 0, rows = 0;
};

struct RandomCall {
  KvCacheOptions cache;
  std::vector<Branch> branches;
  std::int64_t group = 1;
  bool packed = false, tree = false;
  Layout input = Layout::bhsd, output = Layout::bhsd;
  double deviation = 1;
  std::uint64_t seed = 0;
};

/// From the whole range in every case: RapidCheck would begin with the lowest numbers.
std::int64_t number(std::int64_t begin, std::int64_t end) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::int64_t>(begin, end));
}

/// The first ones are the simplest.
template <class Values>
auto pick(const Values& values) {
  return values[std::size_t(number(0, std::int64_t(std::size(values))))];
}

/// One in `times`.
bool rarely(std::int64_t times) {
  return number(0, times) == times - 1;
}

std::int64_t draw_tokens(std::int64_t long_ones) {
  if (rarely(long_ones)) return number(1000, 1200);
  return rarely(4) ? number(60, 300) : number(0, 70);
}

KvCacheOptions draw_cache() {
  KvCacheOptions options;
  const auto size = [](KvType type) {
    return kv_block(type) > 1 ? kv_block(type) * number(1, 4) : number(1, 70);
  };
  options.k_type = pick(kKvTypes);
  options.v_type = pick(kKvTypes);
  options.kv_heads = number(1, 3);
  options.k_head_size = size(options.k_type);
  options.v_head_size = size(options.v_type);
  options.page_tokens = pick(std::array<std::int64_t, 6>{16, 32, 48, 64, 256, 4096});
  if (rarely(3)) {
    options.window = rarely(3) ? number(200, 1100) : number(1, 60);
    options.keep_first = pick(std::array<std::int64_t, 4>{0, 3, 16, 40});
  }
  return options;
}

RandomCall draw() {
  RandomCall call;
  call.cache = draw_cache();
  const std::int64_t count = number(1, 5);
  for (std::int64_t n = 0; n < count; ++n) {
    Branch& branch = call.branches.emplace_back();
    if (n > 0 && rarely(2)) {
      branch.from = number(0, n);
      if (call.cache.window < 0) branch.dropped = number(0, 70);
    }
    branch.tokens = draw_tokens(n == 0 ? 4 : 12);
    branch.rows = number(0, 10);
  }
  call.group = pick(std::array<std::int64_t, 5>{1, 2, 3, 4, 8});
  call.packed = rarely(2);
  call.tree = rarely(3);
  call.input = pick(kInputLayouts);
  call.output = pick(kOutputLayouts);
  call.deviation = pick(std::array<double, 5>{1, 1, 0.01, 8, 40});
  call.seed = std::uint64_t(number(0, 1'000'000));
  return call;
}

/// What a failure names, beside the numbers that RapidCheck shows without words.
std::string text_of(const RandomCall& call, const Options& options) {
  std::ostringstream text;
  text << "k " << kv_type_name(call.cache.k_type) << ", v " << kv_type_name(call.cache.v_type)
       << ", " << call.cache.kv_heads << " KV heads, group " << call.group << ", D "
       << call.cache.k_head_size << ", Dv " << call.cache.v_head_size << ", pages of "
       << call.cache.page_tokens << ", ring of " << call.cache.window << ", "
       << call.cache.keep_first << " kept\n";
  for (const Branch& branch : call.branches) {
    text << "sequence from " << branch.from << " less " << branch.dropped << ", " << branch.tokens
         << " tokens, " << branch.rows << " rows\n";
  }
  text << "packed " << call.packed << " tree " << call.tree << " causal " << int(options.causal)
       << " window " << options.window.left << "," << options.window.right << " softcap "
       << options.softcap << " q_offset " << options.q_offset.size() << " q_len "
       << options.q_len.size() << " mask " << (options.mask.data != nullptr) << " bias "
       << (options.bias.data != nullptr) << " alibi_slopes "
       << (options.alibi_slopes.data != nullptr) << " sinks " << (options.sinks.data != nullptr)
       << " seed " << call.seed;
  return text.str();
}

Cached make(const RandomCall& call) {
  Cached cached;
  std::vector<std::int64_t> lengths;
  KvCacheOptions options = call.cache;
  for (const Branch& branch : call.branches) {
    const std::int64_t before = branch.from < 0 ? 0 : lengths[std::size_t(branch.from)];
    lengths.push_back(std::max<std::int64_t>(before - branch.dropped, 0) + branch.tokens);
    options.pages += lengths.back() / options.page_tokens + 2;
  }
  RC_ASSERT(KvCache::create(options, cached.cache).ok());
  for (std::size_t n = 0; n < lengths.size(); ++n) {
    const Branch& branch = call.branches[n];
    std::int64_t& sequence = cached.sequences.emplace_back();
    if (branch.from < 0) {
      RC_ASSERT(cached.cache.add(sequence).ok());
    } else {
      RC_ASSERT(cached.cache.fork(cached.sequences[std::size_t(branch.from)], sequence).ok());
      const std::int64_t kept = lengths[n] - branch.tokens;
      if (branch.dropped > 0) RC_ASSERT(cached.cache.trim(sequence, kept).ok());
    }
    const Inputs<float> tokens = random_tokens(options, branch.tokens, call.seed + n);
    RC_ASSERT(append_part(cached, n, tokens, 0, branch.tokens).ok());
  }
  cached.lengths = lengths;
  return cached;
}

/// Leaves out some options, each by a number of its own.
void leave_out_some(Options& options) {
  const auto left_out = [] { return number(0, 4) == 0; };
  if (left_out()) options.scale.reset();
  if (left_out()) options.softcap = {};
  if (left_out()) options.causal = Causal::none;
  if (left_out()) options.window = {};
  if (left_out()) options.q_offset = {};
  if (left_out()) options.q_len = {};
  if (left_out()) options.mask = {};
  if (left_out()) options.bias = {};
  if (left_out()) options.alibi_slopes = {};
  if (left_out()) options.sinks = {};
}

/// Rows as the call has them and as the oracle does: (N, Hq, most rows, D).
struct Rows {
  std::vector<std::int64_t> counts;  ///< that exist
  std::vector<std::int64_t> starts;  ///< of each sequence, in the rows of all
  std::vector<std::int64_t> parents;
  std::int64_t most = 0;
};

Rows rows_of(const RandomCall& call, const Cached& cached, const Options& options) {
  Rows rows;
  for (const Branch& branch : call.branches) rows.most = std::max(rows.most, branch.rows);
  bool tree = call.tree;
  std::vector<std::int64_t> places;
  for (std::size_t n = 0; n < call.branches.size(); ++n) {
    const std::int64_t own = call.packed ? call.branches[n].rows : rows.most;
    places.push_back(own);
    rows.counts.push_back(options.q_len.empty() ? own : options.q_len[n]);
    tree &= rows.counts[n] <= cached.lengths[n];
    const auto parents = random_parents(own, call.seed + n);
    rows.parents.insert(rows.parents.end(), parents.begin(), parents.end());
  }
  rows.starts = starts_of(places);
  if (!tree) rows.parents.clear();
  return rows;
}

/// Whether the cache, the window and the tree leave key j to row i: everything but what `forward`
/// means by the same options.
bool sees(const Cached& cached, const Rows& rows, const Options& options, const Shape& at) {
  const auto n = std::size_t(at[0]);
  const std::int64_t i = at[2], j = at[3], keys = cached.lengths[n];
  const std::int64_t first = cached.cache.options().keep_first;
  if (i >= rows.counts[n] || j >= keys) return false;
  if (j >= first) {
    std::int64_t offset = options.causal == Causal::bottom_right ? keys - rows.counts[n] : 0;
    if (!options.q_offset.empty()) {
      offset = options.q_offset[options.q_offset.size() == 1 ? 0 : n];
    }
    if (options.window.left >= 0 && j < i + offset - options.window.left) return false;
    if (j < cached.cache.held_from(cached.sequences[n])) return false;
  }
  const std::int64_t tree = keys - rows.counts[n];
  return rows.parents.empty() || j < tree ||
         is_on_branch(&rows.parents[std::size_t(rows.starts[n])], i, j - tree);
}

/// The same rows, (N, Hq, most rows, columns); `missing` where there is none.
template <class T>
TestTensor<T> spread(const TestTensor<T>& packed, const Rows& rows, float missing) {
  const auto count = std::int64_t(rows.counts.size());
  TestTensor<T> all({count, packed.shape()[1], rows.most, packed.shape()[3]});
  for_each_index(all.shape(), [&](auto n, auto h, auto i, auto d) {
    const auto at = std::size_t(n);
    all.at(n, h, i, d) =
        i < rows.counts[at] ? packed.at(0, h, rows.starts[at] + i, d) : converted<T>(missing);
  });
  return all;
}

template <class T>
testing::AssertionResult matches(const RandomCall& call, const Cached& cached, const Rows& rows,
                                 Options options, const TestTensor<T>& q, const Decoded<T>& got) {
  const auto count = std::int64_t(rows.counts.size());
  TestTensor<float> seen({count, q.shape()[1], rows.most, cached.longest()});
  for_each_index(seen.shape(), [&](auto n, auto h, auto i, auto j) {
    const Shape at{n, h, i, j};
    seen.at(n, h, i, j) =
        (!options.mask.data || base::read_bool(options.mask, at)) && sees(cached, rows, options, at)
            ? 1
            : 0;
  });
  const BoolTensor mask(seen);
  options.mask = mask.view();
  options.window.left = -1;
  if (!call.packed) return matches_oracle(cached, q, options, got, 25);
  options.q_len = rows.counts;
  Decoded<T> all;
  all.out = spread(got.out, rows, 0);
  all.lse = spread(got.lse, rows, -std::numeric_limits<float>::infinity());
  return matches_oracle(cached, spread(q, rows, 0), options, all, 25);
}

template <class T>
void check_random(const RandomCall& call) {
  const Cached cached = make(call);
  const auto count = std::int64_t(call.branches.size());
  ProblemShape shape{count,
                     call.cache.kv_heads,
                     call.group,
                     0,
                     cached.longest(),
                     call.cache.k_head_size,
                     call.cache.v_head_size};
  for (const Branch& branch : call.branches) shape.sq = std::max(shape.sq, branch.rows);
  const RandomOptions random(shape, call.seed);
  Options options = random.options;
  options.kv_len = {};
  leave_out_some(options);
  if (call.packed) options.q_len = {};
  const Rows rows = rows_of(call, cached, options);
  if (call.packed) shape.batch = 1;
  if (call.packed) shape.sq = rows.starts.back();
  const auto q = normal_tensor<T>(shape.q(), call.seed, call.input, call.deviation);
  DecodeRows how{.starts = {}, .parents = rows.parents};
  if (call.packed) how.starts = rows.starts;
  Decoded<T> got(q.shape(), shape.dv, call.output);
  const Status status =
      decode(one_thread(), q.view(), cached.cache, cached.sequences, how, got.outputs(), options);
  if (!status.ok()) RC_FAIL(text_of(call, options) + "\n" + status.message());
  RC_ASSERT(got.out.canaries_intact() && got.lse.canaries_intact());
  RC_ASSERT(got.out.unwritten() + got.lse.unwritten() == 0);
  const testing::AssertionResult verdict = matches(call, cached, rows, options, q, got);
  if (!verdict) RC_FAIL(text_of(call, options) + "\n" + verdict.message());
}

RC_GTEST_PROP(DecodeRandom, EqualsTheOracle, ()) {
  const std::int64_t type = number(0, 3);
  const RandomCall call = draw();
  type == 0   ? check_random<float>(call)
  : type == 1 ? check_random<F16>(call)
              : check_random<BF16>(call);
}

}  // namespace
}  // namespace regard::test

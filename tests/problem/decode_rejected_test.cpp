// Decode calls that are refused: each sentence, and outputs as they were.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <ostream>
#include <string>
#include <vector>

#include "regard/decode.h"
#include "support/inputs.h"

namespace regard::test {
namespace {

/// Two sequences of 20 and 5 tokens in three pages of 16, two KV heads, K in f32 (D = 4), V in int8
/// (Dv = 3); q with four heads and two rows a sequence.
struct DecodeRequest {
  std::vector<float> k_memory = std::vector<float>(3 * 2 * 16 * 4, 0.5F);
  std::vector<std::int8_t> v_memory = std::vector<std::int8_t>(3 * 2 * 16 * 3, 1);
  std::vector<float> scales = std::vector<float>(3 * 2 * 16, 0.25F);
  TestTensor<float> q_memory = normal_tensor<float>({2, 4, 2, 4}, 1);
  TestTensor<float> out_memory{{2, 4, 2, 3}}, lse_memory{{2, 4, 2, 1}};
  std::vector<std::int32_t> first = {2, 0}, second = {1};
  std::vector<const std::int32_t*> tables = {first.data(), second.data()};
  std::vector<std::int64_t> lengths = {20, 5}, held_from, starts, parents, numbers;

  ConstTensor q = q_memory.view();
  Outputs outputs{.out = out_memory.tensor(), .lse = lse_memory.tensor(), .weights = {}};
  KvView cache;
  Options options;

  DecodeRequest() {
    cache.k = kv_rows_hnd(k_memory.data(), KvType::f32, 2, 16, 4);
    cache.v = kv_rows_hnd(v_memory.data(), KvType::int8, 2, 16, 3, scales.data());
    cache.kv_heads = 2;
    cache.page_tokens = 16;
    cache.pages = 3;
  }
  DecodeRequest(const DecodeRequest&) = delete;
  DecodeRequest& operator=(const DecodeRequest&) = delete;

  /// Rows of both sequences in one: q (1, 4, 4, 4).
  void pack(std::vector<std::int64_t> row_starts) {
    starts = std::move(row_starts);
    q.shape = {1, 4, 4, 4};
    q.strides = dense_strides(q.shape);
    outputs.out.shape = {1, 4, 4, 3};
    outputs.out.strides = dense_strides(outputs.out.shape);
    outputs.lse.shape = {1, 4, 4, 1};
    outputs.lse.strides = dense_strides(outputs.lse.shape);
  }

  KvView view() const {
    KvView view = cache;
    view.page_tables = tables;
    view.lengths = lengths;
    view.held_from = held_from;
    return view;
  }
  Status run() const {
    return decode(Context(1), q, view(), {.starts = starts, .parents = parents}, outputs, options);
  }
  Status explain() const {
    Explanation explanation;
    return explain_decode(Context(1), q, view(), {.starts = starts, .parents = parents}, outputs,
                          options, explanation);
  }
  bool is_untouched() const {
    return out_memory.unwritten() == 2 * 4 * 2 * 3 && lse_memory.unwritten() == 2 * 4 * 2 &&
           out_memory.canaries_intact() && lse_memory.canaries_intact();
  }
};

struct DecodeRefusal {
  const char* name;
  void (*spoil)(DecodeRequest&);
  const char* sentence;
  StatusCode code = StatusCode::invalid_argument;
};
std::ostream& operator<<(std::ostream& stream, const DecodeRefusal& refusal) {
  return stream << refusal.name;
}
std::string name_of(const testing::TestParamInfo<DecodeRefusal>& info) {
  return info.param.name;
}

class DecodeCalls : public testing::TestWithParam<DecodeRefusal> {};

TEST_P(DecodeCalls, AreRefused) {
  DecodeRequest request;
  GetParam().spoil(request);
  for (const Status& status : {request.run(), request.explain()}) {
    EXPECT_EQ(status.code(), GetParam().code);
    EXPECT_EQ(status.message(), GetParam().sentence);
  }
  EXPECT_TRUE(request.is_untouched());
}

TEST(DecodeRequests, AreServedAsTheyStand) {
  DecodeRequest batch, packed;
  EXPECT_TRUE(batch.run().ok()) << batch.run().message();
  EXPECT_EQ(batch.out_memory.unwritten() + batch.lse_memory.unwritten(), 0);
  packed.pack({0, 3, 4});
  packed.parents = {-1, 0, 0, -1};
  EXPECT_TRUE(packed.run().ok()) << packed.run().message();
  EXPECT_EQ(packed.out_memory.unwritten() + packed.lse_memory.unwritten(), 0);
}

constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max();

const DecodeRefusal kCaches[] = {
    {"NegativeHeads", [](DecodeRequest& r) { r.cache.kv_heads = -1; },
     "cache: -1 KV heads or pages are below 0"},
    {"NegativePages", [](DecodeRequest& r) { r.cache.pages = -3; },
     "cache: -3 KV heads or pages are below 0"},
    {"NoPageTokens", [](DecodeRequest& r) { r.cache.page_tokens = 0; },
     "page_tokens: 0 is no multiple of 16"},
    {"OddPageTokens", [](DecodeRequest& r) { r.cache.page_tokens = 24; },
     "page_tokens: 24 is no multiple of 16"},
    {"NegativePageTokens", [](DecodeRequest& r) { r.cache.page_tokens = -16; },
     "page_tokens: -16 is no multiple of 16"},
    {"TablesOfOthers", [](DecodeRequest& r) { r.tables.pop_back(); },
     "page_tables: 1 tables differ from 2 lengths"},
    {"HeldFromOfOthers",
     [](DecodeRequest& r) {
       r.held_from = {0, 0, 0};
     },
     "held_from: 3 numbers differ from 2 lengths"},
    {"NegativeHeldFrom",
     [](DecodeRequest& r) {
       r.held_from = {0, -(std::int64_t{1} << 32)};
     },
     "held_from: -4294967296 is below 0"},
    {"NegativeKeepFirst", [](DecodeRequest& r) { r.cache.keep_first = -2; },
     "keep_first: -2 is below 0"},
    {"NegativeLength", [](DecodeRequest& r) { r.lengths[1] = -1; },
     "lengths: -1 is not in [0, 2147483647]"},
    {"LongLength", [](DecodeRequest& r) { r.lengths[0] = std::int64_t{1} << 31; },
     "lengths: 2147483648 is not in [0, 2147483647]"},
    {"NoTable", [](DecodeRequest& r) { r.tables[1] = nullptr; },
     "page_tables: that of sequence 1 is null, but it has 5 tokens"},
    {"PageBehindThePool", [](DecodeRequest& r) { r.first[1] = 3; },
     "page_tables: page 3 of sequence 0 is not in [0, 3)"},
    {"NegativePage", [](DecodeRequest& r) { r.second[0] = -1; },
     "page_tables: page -1 of sequence 1 is not in [0, 3)"},
};
INSTANTIATE_TEST_SUITE_P(Caches, DecodeCalls, testing::ValuesIn(kCaches), name_of);

const DecodeRefusal kRows[] = {
    {"TypeOfK", [](DecodeRequest& r) { r.cache.k.type = KvType(10); },
     "k.type: 10 is not in 0 to 9"},
    {"NoHeadSize", [](DecodeRequest& r) { r.cache.v.head_size = 0; },
     "v.head_size: 0 is not in [1, 2147483647]"},
    {"BlocksOfK",
     [](DecodeRequest& r) {
       r.cache.k.type = KvType::q8_0;
       r.cache.k.head_size = 40;
     },
     "k.head_size: 40 is no multiple of the block of q8_0, 32"},
    {"NoScales", [](DecodeRequest& r) { r.cache.v.scales = nullptr; },
     "v.scales: null, but int8 keeps its scales there"},
    {"FarPages", [](DecodeRequest& r) { r.cache.k.page_bytes = kFar; },
     "k: a distance of 9223372036854775807 bytes times 3 leaves the address space"},
    {"FarHeads", [](DecodeRequest& r) { r.cache.k.head_bytes = -kFar - 1; },
     "k: a distance of -9223372036854775808 bytes times 2 leaves the address space"},
    {"FarTokens", [](DecodeRequest& r) { r.cache.v.token_bytes = kFar / 16; },
     "v: a distance of 576460752303423487 bytes times 16 leaves the address space"},
    {"FarScales", [](DecodeRequest& r) { r.cache.v.scale_page_bytes = kFar; },
     "v.scales: a distance of 9223372036854775807 bytes times 3 leaves the address space"},
    {"HeadSizeOfQ", [](DecodeRequest& r) { r.cache.k.head_size = 3; },
     "k: head size 3 differs from q's 4"},
    {"HeadsThatDoNotDivide", [](DecodeRequest& r) { r.cache.kv_heads = 3; },
     "k: 3 heads do not divide q's 4"},
};
INSTANTIATE_TEST_SUITE_P(Rows, DecodeCalls, testing::ValuesIn(kRows), name_of);

constexpr StatusCode kUnsupported = StatusCode::unsupported;

const DecodeRefusal kRequests[] = {
    {"KvLen",
     [](DecodeRequest& r) {
       r.numbers = {20, 5};
       r.options.kv_len = r.numbers;
     },
     "kv_len: 2 numbers beside a cache, which has its own lengths"},
    {"F64", [](DecodeRequest& r) { r.q.dtype = DType::f64; },
     "q: dtype f64, and caches are computed in f32", kUnsupported},
    {"OtherPath", [](DecodeRequest& r) { r.options.path = Path::tiles; },
     "path: tiles reads no cache, decode does", kUnsupported},
    {"Weights", [](DecodeRequest& r) { r.outputs.weights = r.outputs.lse; },
     "weights: decode serves out and lse alone", kUnsupported},
    {"Entropy", [](DecodeRequest& r) { r.outputs.entropy = r.outputs.lse; },
     "entropy: decode serves out and lse alone", kUnsupported},
    {"TopWeights", [](DecodeRequest& r) { r.outputs.top_weights = r.outputs.lse; },
     "top_weights: decode serves out and lse alone", kUnsupported},
    {"TopKeys", [](DecodeRequest& r) { r.outputs.top_keys = r.outputs.lse; },
     "top_keys: decode serves out and lse alone", kUnsupported},
    {"KeyMass", [](DecodeRequest& r) { r.outputs.key_mass = r.outputs.lse; },
     "key_mass: decode serves out and lse alone", kUnsupported},
    {"Batch",
     [](DecodeRequest& r) {
       r.lengths.pop_back();
       r.tables.pop_back();
     },
     "q: batch 2 differs from the cache's 1 sequences"},
    {"TooFewStarts",
     [](DecodeRequest& r) {
       r.pack({0, 4});
     },
     "starts: 2 numbers differ from 1 more than 2 sequences"},
    {"FirstStart",
     [](DecodeRequest& r) {
       r.pack({1, 3, 4});
     },
     "starts: the first is 1, it must be 0"},
    {"FallingStarts",
     [](DecodeRequest& r) {
       r.pack({0, 5, 4});
     },
     "starts: 4 is below the one before it, 5"},
    {"LastStart",
     [](DecodeRequest& r) {
       r.pack({0, 3, 5});
     },
     "starts: the last is 5, but q has 4 rows"},
    {"BatchOfPackedRows",
     [](DecodeRequest& r) {
       r.starts = {0, 1, 2};
     },
     "q: batch 2 of packed sequences differs from 1"},
    {"Out", [](DecodeRequest& r) { r.outputs.out.shape[3] = 4; },
     "out: shape (2, 4, 2, 4) differs from (2, 4, 2, 3)"},
};
INSTANTIATE_TEST_SUITE_P(Requests, DecodeCalls, testing::ValuesIn(kRequests), name_of);

const DecodeRefusal kTrees[] = {
    {"ParentsOfOthers",
     [](DecodeRequest& r) {
       r.parents = {-1, 0, -1};
     },
     "parents: 3 numbers differ from 4 rows"},
    {"ParentBelowNone",
     [](DecodeRequest& r) {
       r.parents = {-1, -2, -1, 0};
     },
     "parents: that of row 1, -2, is not in [-1, 1)"},
    {"ParentOfItself",
     [](DecodeRequest& r) {
       r.parents = {-1, 0, -1, 1};
     },
     "parents: that of row 1, 1, is not in [-1, 1)"},
    {"MoreRowsThanKeys",
     [](DecodeRequest& r) {
       r.parents = {-1, 0, -1, 0};
       r.lengths[1] = 1;
     },
     "parents: 2 rows of sequence 1 are more than a tree has, 1"},
};
INSTANTIATE_TEST_SUITE_P(Trees, DecodeCalls, testing::ValuesIn(kTrees), name_of);

TEST(DecodeTrees, HaveAtMost64Rows) {
  DecodeRequest request;
  const TestTensor<float> q({2, 4, 65, 4});
  TestTensor<float> out({2, 4, 65, 3});
  request.first.assign(5, 0);
  request.tables[0] = request.first.data();
  request.lengths = {80, 5};
  request.q = q.view();
  request.outputs = {.out = out.tensor(), .lse = {}, .weights = {}};
  request.parents.assign(130, -1);
  const Status status = request.run();
  EXPECT_EQ(status.message(), "parents: 65 rows of sequence 0 are more than a tree has, 64");
  EXPECT_EQ(out.unwritten(), element_count(out.shape()));
}

/// What `run` alone refuses: it looks at memory.
const DecodeRefusal kMemory[] = {
    {"NoK", [](DecodeRequest& r) { r.cache.k.data = nullptr; }, "k"},
    {"NoV", [](DecodeRequest& r) { r.cache.v.data = nullptr; }, "v"},
    {"NoQ", [](DecodeRequest& r) { r.q.data = nullptr; }, "q"},
    {"OddAddressOfK",
     [](DecodeRequest& r) { r.cache.k.data = static_cast<const std::byte*>(r.cache.k.data) + 2; },
     "k"},
    {"OddTokensOfK", [](DecodeRequest& r) { r.cache.k.token_bytes = 15; }, "k"},
    {"OddPagesOfHalves",
     [](DecodeRequest& r) {
       r.cache.v.type = KvType::f16;
       r.cache.v.page_bytes = 97;
     },
     "v"},
    {"OutInK", [](DecodeRequest& r) { r.outputs.out.data = r.k_memory.data() + 30; }, "out"},
    {"LseInV",
     [](DecodeRequest& r) {
       r.outputs.lse.data = reinterpret_cast<float*>(r.v_memory.data() + 64);
     },
     "lse"},
    {"OutInQ", [](DecodeRequest& r) { r.outputs.out.data = r.q_memory.data(); }, "out"},
    {"OutInScales", [](DecodeRequest& r) { r.outputs.out.data = r.scales.data() + 40; }, "out"},
    {"SmallScratch",
     [](DecodeRequest& r) {
       alignas(64) static std::byte few[64];
       r.options.scratch = few;
     },
     "scratch"},
};

TEST(DecodeMemory, IsRefusedByItsName) {
  for (const DecodeRefusal& refusal : kMemory) {
    DecodeRequest request;
    refusal.spoil(request);
    const std::vector<float> k = request.k_memory, scales = request.scales;
    const Status status = request.run();
    EXPECT_EQ(status.code(), StatusCode::invalid_argument) << refusal.name;
    EXPECT_EQ(status.message().rfind(std::string(refusal.sentence) + ": ", 0), 0U)
        << refusal.name << ": " << status.message();
    EXPECT_TRUE(request.is_untouched() && request.k_memory == k && request.scales == scales)
        << refusal.name;
  }
}

// Entries of pages whose tokens have all been dropped may be anything.
TEST(DecodeTables, OfDroppedPagesAreNotChecked) {
  DecodeRequest request;
  request.first[0] = -7;
  request.held_from = {16, 0};
  EXPECT_TRUE(request.run().ok()) << request.run().message();
  request.held_from = {15, 0};
  EXPECT_FALSE(request.run().ok());
}

TEST(DecodeOfACache, NeedsOneThatWasCreatedAndItsSequences) {
  DecodeRequest request;
  KvCache cache;
  const std::int64_t numbers[] = {0, 1};
  const auto run = [&] {
    return decode(Context(1), request.q, cache, numbers, {}, request.outputs, {});
  };
  EXPECT_EQ(run().message(), "cache: it has not been created");
  KvCacheOptions options;
  options.k_type = options.v_type = KvType::f32;
  options.kv_heads = 2;
  options.k_head_size = 4;
  options.v_head_size = 3;
  options.pages = 2;
  ASSERT_TRUE(KvCache::create(options, cache).ok());
  EXPECT_EQ(run().code(), StatusCode::invalid_argument);
  EXPECT_EQ(run().message().rfind("sequences[0]: ", 0), 0U) << run().message();
  EXPECT_TRUE(request.is_untouched());
}

TEST(DecodeCancel, StopsTheCall) {
  DecodeRequest request;
  request.options.cancel = [] { return true; };
  EXPECT_EQ(request.run().code(), StatusCode::cancelled);
}

}  // namespace
}  // namespace regard::test

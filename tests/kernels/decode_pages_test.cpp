// Memory of keys that no row sees is not read, nor is anything beyond either end of an array:
// unreadable pages stand there.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <memory>

#include "cache/rows.h"
#include "kernels/decode_trees.h"
#include "support/guarded.h"

namespace regard::test {
namespace {

constexpr std::int64_t kHeads = 2, kPageTokens = 16;

/// An array of rows, each at the end of a page of memory of its own that can be made unreadable.
class LonelyRows {
 public:
  LonelyRows(std::int64_t rows, std::int64_t row_bytes)
      : memory_page_(std::int64_t(sysconf(_SC_PAGESIZE))),
        rows_(rows),
        row_bytes_(row_bytes),
        memory_(rows * memory_page_, GuardedArray<std::byte>::Against::front) {}
  ~LonelyRows() { protect(0, rows_, PROT_READ | PROT_WRITE); }
  LonelyRows(const LonelyRows&) = delete;
  LonelyRows& operator=(const LonelyRows&) = delete;

  std::int64_t step() const { return memory_page_; }
  std::byte* row(std::int64_t n) { return memory_.data() + (n + 1) * memory_page_ - row_bytes_; }
  void hide(std::int64_t n) { protect(n, 1, PROT_NONE); }

 private:
  void protect(std::int64_t n, std::int64_t count, int protection) {
    ASSERT_EQ(
        mprotect(memory_.data() + n * memory_page_, std::size_t(count * memory_page_), protection),
        0);
  }
  std::int64_t memory_page_, rows_, row_bytes_;
  GuardedArray<std::byte> memory_;
};

/// K or V of one sequence, its pages in descending order, rows and scales lonely.
class LonelyKeys {
 public:
  LonelyKeys(KvType type, const TestTensor<float>& from, bool heads_outside)
      : type_(type),
        columns_(from.shape()[3]),
        pages_((from.shape()[2] + kPageTokens - 1) / kPageTokens),
        heads_outside_(heads_outside),
        data_(pages_ * kHeads * kPageTokens, kv_row_bytes(type, columns_)),
        scales_(pages_ * kHeads * kPageTokens, kv_scale_bytes(type, columns_)) {
    for_each_index({1, kHeads, from.shape()[2], 1}, [&](auto, auto h, auto t, auto) {
      cache::write_row(type, &from.at(0, h, t, 0), columns_, data_.row(place(h, t)),
                       scales_.row(place(h, t)));
    });
  }
  void hide(std::int64_t token) {
    for (std::int64_t h = 0; h < kHeads; ++h) {
      data_.hide(place(h, token));
      scales_.hide(place(h, token));
    }
  }
  KvRows rows() {
    const std::int64_t token = heads_outside_ ? 1 : kHeads, head = heads_outside_ ? kPageTokens : 1;
    KvRows rows;
    rows.data = data_.row(0);
    rows.type = type_;
    rows.head_size = columns_;
    rows.token_bytes = rows.scale_token_bytes = token * data_.step();
    rows.head_bytes = rows.scale_head_bytes = head * data_.step();
    rows.page_bytes = rows.scale_page_bytes = kHeads * kPageTokens * data_.step();
    if (kv_scale_bytes(type_, columns_) > 0) rows.scales = scales_.row(0);
    return rows;
  }

 private:
  std::int64_t place(std::int64_t head, std::int64_t token) const {
    const std::int64_t page = pages_ - 1 - token / kPageTokens, at = token % kPageTokens;
    return page * kHeads * kPageTokens +
           (heads_outside_ ? head * kPageTokens + at : at * kHeads + head);
  }
  KvType type_;
  std::int64_t columns_, pages_;
  bool heads_outside_;
  LonelyRows data_, scales_;
};

struct Lonely {
  std::int64_t length;
  LonelyKeys k, v;
  std::vector<std::int32_t> table;
  const std::int32_t* tables[1];
  std::int64_t lengths[1];

  Lonely(KvType k_type, KvType v_type, const Inputs<float>& tokens, bool heads_outside)
      : length(tokens.k.shape()[2]),
        k(k_type, tokens.k, heads_outside),
        v(v_type, tokens.v, heads_outside) {
    for (std::int64_t page = (length - 1) / kPageTokens; page >= 0; --page) {
      table.push_back(std::int32_t(page));
    }
    tables[0] = table.data();
    lengths[0] = length;
  }
  Lonely(const Lonely&) = delete;
  Lonely& operator=(const Lonely&) = delete;

  KvView view() {
    KvView view;
    view.k = k.rows();
    view.v = v.rows();
    view.kv_heads = kHeads;
    view.page_tokens = kPageTokens;
    view.pages = std::int64_t(table.size());
    view.page_tables = tables;
    view.lengths = lengths;
    return view;
  }
};

struct Case {
  KvType k, v;
  std::int64_t d, dv;
};
// Each way of reading rows: in place, copied because the head fills no vector, and converted.
constexpr Case kCases[] = {
    {KvType::f32, KvType::f32, 64, 32},           {KvType::f32, KvType::bf16, 13, 7},
    {KvType::f16, KvType::bf16, 128, 64},         {KvType::f16, KvType::f16, 40, 1},
    {KvType::int8, KvType::int8, 64, 96},         {KvType::int8, KvType::fp8_e4m3, 31, 3},
    {KvType::int8_32, KvType::int4_32, 64, 128},  {KvType::int4_32, KvType::int8_32, 32, 96},
    {KvType::fp8_e4m3, KvType::fp8_e5m2, 96, 32}, {KvType::fp8_e5m2, KvType::fp8_e4m3, 16, 64},
    {KvType::q8_0, KvType::q4_0, 32, 64},         {KvType::q4_0, KvType::q8_0, 96, 32},
};

Inputs<float> tokens_of(const Case& c, std::int64_t length) {
  KvCacheOptions options;
  options.kv_heads = kHeads;
  options.k_head_size = c.d;
  options.v_head_size = c.dv;
  return random_tokens(options, length, 3);
}

/// How rows are hidden: what no row sees, and the call that hides it.
enum class Hider { window, mask, bias, causal, ring };
constexpr Hider kHiders[] = {Hider::window, Hider::mask, Hider::bias, Hider::causal, Hider::ring};

bool is_seen(Hider hider, std::int64_t key, std::int64_t length) {
  switch (hider) {
    case Hider::window:
      return key >= length - 2 - 30;
    case Hider::mask:
    case Hider::bias:
      return key % 5 != 1 && (key < 64 || key >= 130) && key < length - 3;
    case Hider::causal:
      return key <= 21;
    case Hider::ring:
      return key < 20 || key >= 100;
  }
  return true;
}

TEST(DecodePages, KeysThatNoRowSeesAreNotRead) {
  constexpr std::int64_t kLength = 203;
  const std::int64_t twenty[] = {20}, held[] = {100};
  for (const Case& c : kCases) {
    const Inputs<float> tokens = tokens_of(c, kLength);
    const auto q = normal_tensor<float>({1, 4, 2, c.d}, 4);
    for (const Hider hider : kHiders) {
      for (const bool heads_outside : {false, true}) {
        SCOPED_TRACE(testing::Message() << kv_type_name(c.k) << ' ' << kv_type_name(c.v) << ' '
                                        << int(hider) << ' ' << heads_outside);
        const BoolTensor mask =
            mask_of(1, 1, kLength, [&](auto, auto, auto j) { return is_seen(hider, j, kLength); });
        TestTensor<float> bias({1, 1, 1, kLength});
        for_each_index(bias.shape(), [&](auto, auto, auto, auto j) {
          bias.at(0, 0, 0, j) =
              is_seen(hider, j, kLength) ? 0 : -std::numeric_limits<float>::infinity();
        });
        Options call;
        if (hider == Hider::window) call.causal = Causal::bottom_right;
        if (hider == Hider::window) call.window = {30, -1};
        if (hider == Hider::mask) call.mask = mask.view();
        if (hider == Hider::bias) call.bias = bias.view();
        if (hider == Hider::causal) call.causal = Causal::top_left;
        if (hider == Hider::causal) call.q_offset = twenty;
        Lonely lonely(c.k, c.v, tokens, heads_outside);
        KvView view = lonely.view();
        if (hider == Hider::ring) {
          view.keep_first = 20;
          view.held_from = held;
        }
        const auto expected = run_decode(view, q, call);
        for (std::int64_t key = 0; key < kLength; ++key) {
          if (is_seen(hider, key, kLength)) continue;
          lonely.k.hide(key);
          lonely.v.hide(key);
        }
        // Tokens behind the last, in its page, and entries of pages that hold dropped ones alone.
        for (std::int64_t key = kLength; key % kPageTokens != 0; ++key) {
          lonely.k.hide(key);
          lonely.v.hide(key);
        }
        for (std::size_t page = 2; hider == Hider::ring && page < 6; ++page) {
          lonely.table[page] = -1;
        }
        EXPECT_TRUE(run_decode(view, q, call).same_bits(expected));
      }
    }
  }
}

template <class T>
std::unique_ptr<GuardedArray<T>> guarded(const T* from, std::int64_t count, bool back) {
  using Side = typename GuardedArray<T>::Against;
  auto array = std::make_unique<GuardedArray<T>>(count, back ? Side::back : Side::front);
  if (from) std::memcpy(array->data(), from, std::size_t(count) * sizeof(T));
  return array;
}

TEST(DecodePages, BothEndsOfEveryArray) {
  for (const std::int64_t length : {1, 5, 16, 63, 130}) {
    for (const Case& c : kCases) {
      const Inputs<float> tokens = tokens_of(c, length);
      const ProblemShape shape{1, kHeads, 3, 5, length, c.d, c.dv};
      const auto q = normal_tensor<float>(shape.q(), 4);
      const FullOptions<float> full(shape, 2);
      const LaidOut<float> laid(full, kEvery & ~kRagged);
      Lonely lonely(c.k, c.v, tokens, true);
      const auto expected = run_decode(lonely.view(), q, laid.options);
      const std::int64_t outs = element_count(expected.out.shape());
      const std::int64_t pairs = element_count(shape.weights());
      for (const bool back : {false, true}) {
        SCOPED_TRACE(testing::Message() << shape << ' ' << kv_type_name(c.k) << ' ' << back);
        const auto queries = guarded(q.data(), element_count(q.shape()), back);
        const auto bias = guarded(full.bias.data(), pairs, back);
        const auto mask =
            guarded(static_cast<const unsigned char*>(laid.options.mask.data), pairs, back);
        const auto slopes = guarded(full.slopes.data(), shape.heads(), back);
        const auto table = guarded(lonely.table.data(), std::int64_t(lonely.table.size()), back);
        const auto out = guarded<float>(nullptr, outs, back);
        const auto lse = guarded<float>(nullptr, shape.heads() * 5, back);
        Options call = laid.options;
        call.bias.data = bias->data();
        call.mask.data = mask->data();
        call.alibi_slopes.data = slopes->data();
        KvView view = lonely.view();
        const std::int32_t* tables[] = {table->data()};
        view.page_tables = tables;
        ConstTensor guarded_q = q.view();
        guarded_q.data = queries->data();
        Decoded<float> like(shape.q(), c.dv);
        Outputs outputs = like.outputs();
        outputs.out.data = out->data();
        outputs.lse.data = lse->data();
        Explanation explanation;
        ASSERT_TRUE(
            explain_decode(one_thread(), guarded_q, view, {}, outputs, call, explanation).ok());
        const auto scratch = guarded<std::byte>(nullptr, explanation.scratch_bytes, back);
        call.scratch = {scratch->data(), std::size_t(scratch->count())};
        const Status status = decode(one_thread(), guarded_q, view, {}, outputs, call);
        ASSERT_TRUE(status.ok()) << status.message();
        EXPECT_EQ(std::memcmp(out->data(), expected.out.data(), std::size_t(outs) * 4), 0);
        EXPECT_EQ(std::memcmp(lse->data(), expected.lse.data(), std::size_t(lse->count()) * 4), 0);
      }
    }
  }
}

}  // namespace
}  // namespace regard::test

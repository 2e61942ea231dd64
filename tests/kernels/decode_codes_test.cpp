// Decode reads every code of an element as the cache defines it: as a value all 65,536 of f16 and
// bf16, and all 256 bytes of the other types at every place of a row; as a key, 256 of each.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <vector>

#include "cache/rows.h"
#include "kernels/cached.h"

namespace regard::test {
namespace {

constexpr std::int64_t kTokens = 256, kColumns = 256;

/// Scales in f16 of blocks: of either sign, subnormal, the largest, 0.
constexpr std::uint16_t kScales[] = {0x3555, 0x0001, 0xb0a5, 0x7bff, 0x03ff, 0x3c00, 0x0000};

/// Rows of one head in one page.
class CodeRows {
 public:
  explicit CodeRows(KvType type)
      : type_(type),
        row_bytes_(kv_row_bytes(type, kColumns)),
        scale_bytes_(kv_scale_bytes(type, kColumns)),
        data_(std::size_t(kTokens * row_bytes_)),
        scales_(std::size_t(kTokens * scale_bytes_)) {
    for (std::int64_t t = 0; t < kTokens; ++t) {
      write_codes(t);
      write_scales(t);
    }
  }

  /// Clears token t but for element t: a NaN beside it would be all that a score shows.
  void leave_one_element() {
    const std::int64_t size = row_bytes_ / kColumns;
    for (std::int64_t t = 0; t < kTokens; ++t) {
      for (std::int64_t n = 0; n < row_bytes_; ++n) {
        if (n / size != t) row(t)[n] = std::byte{0};
      }
    }
  }

  /// The numbers of a token as the cache defines them. Kernels flush subnormals of f32.
  std::vector<float> values(std::int64_t t) const {
    std::vector<float> numbers(kColumns);
    cache::read_row(type_, data_.data() + t * row_bytes_, scales_.data() + t * scale_bytes_,
                    kColumns, numbers.data());
    for (float& x : numbers) x = std::fpclassify(x) == FP_SUBNORMAL ? 0 : x;
    return numbers;
  }

  KvRows rows() const {
    return kv_rows_hnd(data_.data(), type_, 1, kTokens, kColumns,
                       scale_bytes_ > 0 ? scales_.data() : nullptr);
  }

 private:
  std::byte* row(std::int64_t t) { return data_.data() + t * row_bytes_; }

  /// Every byte takes each of 256 codes, one a token, and so does byte t of token t; of two, the
  /// upper one stands for the element.
  void write_codes(std::int64_t t) {
    const bool halves = row_bytes_ == 2 * kColumns;
    for (std::int64_t n = 0; n < row_bytes_; ++n) {
      const bool upper = halves && n % 2 == 1;
      row(t)[n] = std::byte(upper ? n / 2 : 2 * n + t);
    }
  }

  void write_scales(std::int64_t t) {
    std::byte* apart = scales_.data() + t * scale_bytes_;
    if (type_ == KvType::int8) {
      const float scale = std::ldexp(0.7F + float(t), int(t - 128) / 2);
      std::memcpy(apart, &scale, sizeof scale);
      return;
    }
    const bool in_front = type_ == KvType::q8_0 || type_ == KvType::q4_0;
    if (!in_front && scale_bytes_ == 0) return;
    for (std::int64_t block = 0; block < kColumns / 32; ++block) {
      const std::uint16_t scale = kScales[std::size_t(t + block) % std::size(kScales)];
      std::byte* at = in_front ? row(t) + block * kv_row_bytes(type_, 32) : apart + 2 * block;
      std::memcpy(at, &scale, sizeof scale);
    }
  }

  KvType type_;
  std::int64_t row_bytes_, scale_bytes_;
  std::vector<std::byte> data_, scales_;
};

class DecodeCodes : public testing::TestWithParam<KvType> {};
INSTANTIATE_TEST_SUITE_P(, DecodeCodes, testing::ValuesIn(kKvTypes + 1, std::end(kKvTypes)),
                         [](const auto& type) { return kv_type_name(type.param); });

/// Row t sees token t alone: its weight is 1 and out is v. Its query picks element t of k, and LSE
/// is that number, since a bias keeps scores to base e.
Decoded<float> decode_each(const KvRows& k, const KvRows& v) {
  const std::int32_t page = 0;
  const std::int32_t* tables[] = {&page};
  const std::int64_t lengths[] = {kTokens};
  KvView view;
  view.k = k;
  view.v = v;
  view.kv_heads = view.pages = 1;
  view.page_tokens = kTokens;
  view.page_tables = tables;
  view.lengths = lengths;
  TestTensor<float> q({1, 1, kTokens, kColumns});
  for_each_index(q.shape(), [&](auto, auto, auto t, auto d) { q.at(0, 0, t, d) = t == d; });
  TestTensor<float> bias({1, 1, 1, 1});
  bias.at(0, 0, 0, 0) = 0;
  Options options;
  options.scale = 1;
  options.bias = bias.view();
  options.causal = Causal::bottom_right;
  options.window = last_n_keys(1);
  return run_decode(view, q, options);
}

KvRows zeros() {
  static const std::vector<float> numbers(kTokens * kColumns);
  return kv_rows_hnd(numbers.data(), KvType::f32, 1, kTokens, kColumns);
}

TEST_P(DecodeCodes, OfKeys) {
  CodeRows k(GetParam());
  if (kv_block(GetParam()) == 1 && GetParam() != KvType::int8) k.leave_one_element();
  const auto result = decode_each(k.rows(), zeros());
  for (std::int64_t t = 0; t < kTokens; ++t) {
    const float score = k.values(t)[std::size_t(t)], lse = result.lse.at(0, 0, t, 0);
    EXPECT_TRUE(std::isfinite(score) ? lse == score : std::isnan(lse))
        << "token " << t << ": " << lse << ", not " << score;
  }
}

TEST_P(DecodeCodes, OfValues) {
  const CodeRows v(GetParam());
  const auto result = decode_each(zeros(), v.rows());
  for (std::int64_t t = 0; t < kTokens; ++t) {
    const std::vector<float> expected = v.values(t);
    for (std::int64_t d = 0; d < kColumns; ++d) {
      const float out = result.out.at(0, 0, t, d), number = expected[std::size_t(d)];
      EXPECT_TRUE(out == number || (std::isnan(out) && std::isnan(number)))
          << "token " << t << " element " << d << ": " << out << ", not " << number;
    }
  }
}

}  // namespace
}  // namespace regard::test

// A cache as plain vectors: the numbers of every token, and pages as shared pointers. It follows
// the words of regard/kv_cache.h token by token and knows nothing of pools and counts.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "cache/rows.h"
#include "regard/kv_cache.h"
#include "support/test_tensor.h"

namespace regard::test {

/// A row as it is read back from a cache.
inline std::vector<float> read_back(KvType type, const std::vector<double>& row) {
  const auto columns = std::int64_t(row.size());
  std::vector<std::byte> bytes(std::size_t(kv_row_bytes(type, columns)));
  std::vector<std::byte> scales(std::size_t(kv_scale_bytes(type, columns)));
  std::vector<float> values(row.size());
  cache::write_row(type, row.data(), columns, bytes.data(), scales.data());
  cache::read_row(type, bytes.data(), scales.data(), columns, values.data());
  return values;
}

/// Its rows of K and V, head by head.
struct ModelToken {
  std::vector<std::vector<float>> k, v;
};

template <class T>
std::vector<std::vector<float>> model_rows(KvType type, const TestTensor<T>& tensor,
                                           std::int64_t token) {
  std::vector<std::vector<float>> rows;
  for (std::int64_t h = 0; h < tensor.shape()[1]; ++h) {
    std::vector<double> row;
    for (std::int64_t d = 0; d < tensor.shape()[3]; ++d) {
      row.push_back(converted<double>(tensor.at(0, h, token, d)));
    }
    rows.push_back(read_back(type, row));
  }
  return rows;
}

struct ModelSequence {
  std::vector<ModelToken> tokens;
  std::vector<std::shared_ptr<int>> pages;
  /// Tokens [keep_first, gone) are lost for good.
  std::int64_t gone = 0;

  std::int64_t length() const { return std::int64_t(tokens.size()); }
};

struct Model {
  KvCacheOptions options;
  std::map<std::int64_t, ModelSequence> sequences;

  std::int64_t held_from(std::int64_t length) const {
    const bool ring = options.window >= 0;
    return ring ? std::max(options.keep_first, length - options.window) : options.keep_first;
  }

  bool may_trim(const ModelSequence& s, std::int64_t length) const {
    if (length < 0 || length > s.length()) return false;
    return length <= options.keep_first || held_from(length) >= s.gone;
  }

  void trim(ModelSequence& s, std::int64_t length) const {
    s.tokens.resize(std::size_t(length));
    while (std::int64_t(s.pages.size()) * options.page_tokens >= length + options.page_tokens) {
      s.pages.pop_back();
    }
    if (length <= options.keep_first) s.gone = 0;
  }

  /// The sequence with these tokens behind its own.
  ModelSequence appended(const ModelSequence& before, std::vector<ModelToken> tokens) const {
    ModelSequence s = before;
    const std::int64_t first_new = s.length();
    s.tokens.insert(s.tokens.end(), tokens.begin(), tokens.end());
    if (options.window >= 0) {
      s.gone = std::max(s.gone, s.length() - options.window - options.spare);
    }
    std::vector<std::shared_ptr<int>> pages;
    for (std::int64_t begin = 0; begin < s.length(); begin += options.page_tokens) {
      bool holds_any = false, written = false;
      const std::int64_t end = std::min(begin + options.page_tokens, s.length());
      for (std::int64_t t = begin; t < end; ++t) {
        const bool kept = t < options.keep_first || t >= s.gone;
        holds_any = holds_any || kept;
        written = written || (kept && t >= first_new);
      }
      const std::size_t n = pages.size();
      std::shared_ptr<int> page = n < before.pages.size() ? before.pages[n] : nullptr;
      if (!holds_any) page = nullptr;
      // What is written is a new page; the one it was lives as long as another sequence holds it.
      if (written) page = std::make_shared<int>();
      pages.push_back(page);
    }
    s.pages = std::move(pages);
    return s;
  }

  /// Pages that all sequences hold together.
  std::int64_t pages_used() const {
    std::set<const int*> held;
    for (const auto& [number, s] : sequences) {
      for (const auto& page : s.pages) {
        if (page) held.insert(page.get());
      }
    }
    return std::int64_t(held.size());
  }

  std::int64_t bytes_of_page() const {
    const std::int64_t rows = options.kv_heads * options.page_tokens;
    std::int64_t bytes = 0;
    for (const std::int64_t row : {kv_row_bytes(options.k_type, options.k_head_size),
                                   kv_scale_bytes(options.k_type, options.k_head_size),
                                   kv_row_bytes(options.v_type, options.v_head_size),
                                   kv_scale_bytes(options.v_type, options.v_head_size)}) {
      bytes += (rows * row + 63) / 64 * 64;
    }
    return bytes;
  }
};

}  // namespace regard::test

// The calls behind the table of `regard bench options`: a plain one, and what each option changes
// in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "regard/attention.h"

namespace regard::cli {

/// Arrays that live as long as this.
class Memory {
 public:
  template <class T>
  T* array(std::int64_t count) {
    blocks_.emplace_back(std::size_t(count) * sizeof(T));
    return reinterpret_cast<T*>(blocks_.back().data());
  }

 private:
  std::vector<std::vector<std::byte>> blocks_;
};

/// A call in f32 of normal numbers, the same for a shape, that writes `out` alone.
struct Call {
  explicit Call(const Shape& shape);
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  Shape shape;  ///< of q, k, v and out
  float *queries = nullptr, *keys = nullptr;
  ConstTensor q, k, v;
  Options options;
  Outputs outputs;
  Memory memory;
  std::mt19937_64 engine{1};
  std::vector<std::int64_t> rows;  ///< what options.rows refers to
};

enum class Against {
  plain,
  causal,  ///< top_left
  longer,  ///< plain, one batch entry and head, eight times the length
};

struct OptionEntry {
  const char* name;
  Against against;
  double limit;  ///< the largest ratio of times that is promised; 0: none
  void (*change)(Call& call);
};

std::span<const OptionEntry> option_entries() noexcept;

}  // namespace regard::cli

// Rows of bf16, 32 numbers at a time, in whatever vectors the compiler has.
#pragma once

#include <cstddef>
#include <cstdint>

namespace regard::REGARD_ISA {

inline constexpr int kHalves = 32;
using Halves = std::uint16_t __attribute__((vector_size(2 * kHalves)));

/// `count` numbers, at most kHalves, then 0.
[[gnu::always_inline]] inline void load_halves(const std::uint16_t* from, std::int64_t count,
                                               Halves& x) {
  if (count == kHalves) {
    __builtin_memcpy(&x, from, sizeof(x));
  } else {
    x = Halves{};
    __builtin_memcpy(&x, from, std::size_t(count) * sizeof(*from));
  }
}

/// The largest magnitudes of many.
class LargestHalves {
 public:
  [[gnu::always_inline]] void add(const Halves& x) {
    const Halves magnitude = x & 0x7fff;
    largest_ = magnitude > largest_ ? magnitude : largest_;
  }
  [[gnu::always_inline]] bool are_finite() const {
    const auto spoiled = largest_ >= 0x7f80;
    std::uint64_t words[sizeof(spoiled) / sizeof(std::uint64_t)];
    __builtin_memcpy(words, &spoiled, sizeof(spoiled));
    std::uint64_t some = 0;
    for (const auto word : words) some |= word;
    return some == 0;
  }

 private:
  Halves largest_{};
};

/// Words of a low and a high half each.
[[gnu::always_inline]] inline void interleave(const Halves& low, const Halves& high,
                                              std::uint32_t* words) {
  const Halves first =
      __builtin_shufflevector(low, high, 0, 32, 1, 33, 2, 34, 3, 35, 4, 36, 5, 37, 6, 38, 7, 39, 8,
                              40, 9, 41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47);
  const Halves second =
      __builtin_shufflevector(low, high, 16, 48, 17, 49, 18, 50, 19, 51, 20, 52, 21, 53, 22, 54, 23,
                              55, 24, 56, 25, 57, 26, 58, 27, 59, 28, 60, 29, 61, 30, 62, 31, 63);
  __builtin_memcpy(words, &first, sizeof(first));
  __builtin_memcpy(words + kHalves / 2, &second, sizeof(second));
}

}  // namespace regard::REGARD_ISA

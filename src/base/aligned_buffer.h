// Uninitialised memory on a 64-byte boundary. Empty after a failed allocation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace regard::base {

class AlignedBuffer {
 public:
  static constexpr std::size_t kAlignment = 64;

  AlignedBuffer() noexcept = default;
  explicit AlignedBuffer(std::int64_t bytes) noexcept {
    if (bytes <= 0) return;
    const std::size_t rounded = (std::size_t(bytes) + kAlignment - 1) / kAlignment * kAlignment;
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignment, rounded)));
    if (memory_) bytes_ = std::int64_t(rounded);
  }

  std::byte* data() const noexcept { return memory_.get(); }
  std::int64_t bytes() const noexcept { return bytes_; }

 private:
  struct Free {
    void operator()(std::byte* memory) const noexcept { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::int64_t bytes_ = 0;
};

}  // namespace regard::base

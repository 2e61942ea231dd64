// Memory between two unreadable pages: touching one byte outside it ends the test program.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <new>

namespace regard::test {

template <class T>
class GuardedArray {
 public:
  enum class Against { front, back };  ///< which end touches an unreadable page

  /// Nothing else lies where `absent` more elements would follow.
  GuardedArray(std::int64_t count, Against side, std::int64_t absent = 0)
      : page_bytes_(std::size_t(sysconf(_SC_PAGESIZE))), count_(count) {
    const std::size_t bytes = std::size_t(count) * sizeof(T);
    inner_bytes_ = whole_pages(bytes);
    mapped_bytes_ = inner_bytes_ + 2 * page_bytes_ + whole_pages(std::size_t(absent) * sizeof(T));
    void* base = mmap(nullptr, mapped_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) throw std::bad_alloc();
    base_ = static_cast<std::byte*>(base);
    std::byte* inner = base_ + page_bytes_;
    if (inner_bytes_ > 0 && mprotect(inner, inner_bytes_, PROT_READ | PROT_WRITE) != 0) {
      munmap(base_, mapped_bytes_);
      throw std::bad_alloc();
    }
    data_ = reinterpret_cast<T*>(side == Against::front ? inner : inner + inner_bytes_ - bytes);
  }
  ~GuardedArray() { munmap(base_, mapped_bytes_); }
  GuardedArray(const GuardedArray&) = delete;
  GuardedArray& operator=(const GuardedArray&) = delete;

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::int64_t count() const { return count_; }

 private:
  std::size_t whole_pages(std::size_t bytes) const {
    return (bytes + page_bytes_ - 1) / page_bytes_ * page_bytes_;
  }

  std::size_t page_bytes_;
  std::size_t inner_bytes_ = 0;
  std::size_t mapped_bytes_ = 0;
  std::int64_t count_;
  std::byte* base_ = nullptr;
  T* data_ = nullptr;
};

}  // namespace regard::test

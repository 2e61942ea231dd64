#include "io/source.h"

#include <bit>
#include <cstring>
#include <new>
#include <utility>

namespace regard::io {
namespace {

static_assert(std::endian::native == std::endian::little, "files are little-endian");

constexpr std::align_val_t kCacheLine{64};

/// Where empty arrays point, because a null pointer means "not given" to the library.
alignas(64) constexpr std::byte kNothing{};

bool is_aligned(const std::byte* data, DType dtype) {
  return std::bit_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(element_bytes(dtype)) ==
         0;
}

}  // namespace

std::shared_ptr<std::byte> aligned_bytes(std::size_t size) {
  return {static_cast<std::byte*>(::operator new(size, kCacheLine)),
          [](std::byte* data) { ::operator delete(data, kCacheLine); }};
}

Array place_array(const Source& source, std::size_t offset, DType dtype,
                  std::vector<std::int64_t> shape, Layout layout) {
  Array array{dtype, std::move(shape), std::move(layout.strides), &kNothing, nullptr};
  if (layout.bytes == 0) return array;
  const auto payload = source.bytes.subspan(offset, static_cast<std::size_t>(layout.bytes));
  if (is_aligned(payload.data(), dtype)) {
    array.data = payload.data();
    array.owner = source.owner;
    return array;
  }
  auto copy = aligned_bytes(payload.size());
  std::memcpy(copy.get(), payload.data(), payload.size());
  array.data = copy.get();
  array.owner = std::move(copy);
  return array;
}

}  // namespace regard::io

#include "io/npy_stream.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "io/element_names.h"
#include "io/layout.h"
#include "io/npy_header.h"

namespace regard::io {
namespace {

/// Large enough to hide the cost of a system call, small enough for a second-level cache.
constexpr std::int64_t kChunkBytes = std::int64_t{1} << 16;

std::string make_header(const Array& array) {
  constexpr std::size_t kPrefixBytes = 10;
  constexpr std::size_t kAlignment = 64;  // so that the data of a mapped file is aligned
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}",
                                 npy_name(array.dtype), fmt::join(array.shape, ", "),
                                 array.shape.size() == 1 ? "," : "");
  const std::size_t unpadded = kPrefixBytes + text.size() + 1;
  text.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ');
  text += '\n';
  std::string header(kNpyMagic);
  header +=
      {'\x01', '\x00', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return header + text;
}

template <std::size_t kBytes>
void copy_strided(std::byte* to, const std::byte* from, std::int64_t count, std::int64_t stride) {
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(to + i * static_cast<std::int64_t>(kBytes),
                from + i * stride * static_cast<std::int64_t>(kBytes), kBytes);
  }
}

void copy_row(std::byte* to, const std::byte* from, std::int64_t count, std::int64_t stride,
              std::int64_t element_bytes) {
  if (stride == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(count * element_bytes));
  } else if (element_bytes == 8) {
    copy_strided<8>(to, from, count, stride);
  } else if (element_bytes == 4) {
    copy_strided<4>(to, from, count, stride);
  } else if (element_bytes == 2) {
    copy_strided<2>(to, from, count, stride);
  } else {
    copy_strided<1>(to, from, count, stride);
  }
}

}  // namespace

std::string check_writable(const Array& array) {
  if (array.shape.size() != array.strides.size()) {
    return fmt::format("the array to write has {} axes and {} strides", array.shape.size(),
                       array.strides.size());
  }
  if (array.shape.size() > kMaxRank) {
    return fmt::format("the array to write has {} axes, a file holds at most {}",
                       array.shape.size(), kMaxRank);
  }
  for (const std::int64_t length : array.shape) {
    if (length < 0) return fmt::format("the array to write has an axis of length {}", length);
  }
  Layout layout;
  if (!lay_out(array.dtype, array.shape, Order::c, layout)) {
    return fmt::format("the array to write, of shape ({}), passes 2^63 bytes",
                       fmt::join(array.shape, ", "));
  }
  if (array.data == nullptr && layout.bytes > 0) {
    return fmt::format("the array to write has {} bytes but no data", layout.bytes);
  }
  return {};
}

NpyStream::NpyStream(const Array& array)
    : data_(array.data),
      element_bytes_(element_bytes(array.dtype)),
      shape_(array.shape),
      strides_(array.strides),
      header_(make_header(array)),
      chunk_(kChunkBytes) {
  if (shape_.empty()) {
    shape_.push_back(1);
    strides_.push_back(1);
  }
  elements_ = std::ranges::count(shape_, 0) != 0 ? 0 : 1;
  if (elements_ != 0) {
    for (const std::int64_t length : shape_) elements_ *= length;
  }
}

std::int64_t NpyStream::total_bytes() const {
  return static_cast<std::int64_t>(header_.size()) + elements_ * element_bytes_;
}

void NpyStream::rewind() {
  header_done_ = false;
  elements_done_ = 0;
}

std::span<const std::byte> NpyStream::next() {
  if (!header_done_) {
    header_done_ = true;
    return std::as_bytes(std::span(header_));
  }
  const std::int64_t count = std::min(elements_ - elements_done_, kChunkBytes / element_bytes_);
  if (count == 0) return {};
  gather(elements_done_, count);
  elements_done_ += count;
  return {chunk_.data(), static_cast<std::size_t>(count * element_bytes_)};
}

/// Copies elements [first, first + count) of the C order into the chunk, a row or a part of one
/// at a time.
void NpyStream::gather(std::int64_t first, std::int64_t count) {
  const std::size_t last_axis = shape_.size() - 1;
  std::byte* to = chunk_.data();
  while (count > 0) {
    std::int64_t rest = first;
    std::int64_t offset = 0;
    for (std::size_t axis = last_axis + 1; axis-- > 0;) {
      offset += rest % shape_[axis] * strides_[axis];
      rest /= shape_[axis];
    }
    const std::int64_t left_in_row = shape_[last_axis] - first % shape_[last_axis];
    const std::int64_t run = std::min(count, left_in_row);
    copy_row(to, data_ + offset * element_bytes_, run, strides_[last_axis], element_bytes_);
    to += run * element_bytes_;
    first += run;
    count -= run;
  }
}

}  // namespace regard::io

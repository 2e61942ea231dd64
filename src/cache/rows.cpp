#include "cache/rows.h"

#include <cstring>

#include "cache/quantise.h"
#include "cache/rounding.h"

namespace regard::cache {
namespace {

constexpr std::int64_t kBlock = 32;
constexpr std::int64_t kHalfScale = sizeof(std::uint16_t);

template <class T>
void store(T value, std::byte* to) noexcept {
  std::memcpy(to, &value, sizeof value);
}
template <class T>
T load(const std::byte* from) noexcept {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T, class Narrow>
void write_floats(const T* values, std::int64_t columns, std::byte* row, const Narrow& narrow) {
  for (std::int64_t n = 0; n < columns; ++n) {
    const auto element = narrow(round_to_odd(values[n]));
    store(element, row + n * std::int64_t(sizeof element));
  }
}

template <class Element>
void read_floats(const std::byte* row, std::int64_t columns, float* values) {
  for (std::int64_t n = 0; n < columns; ++n) {
    values[n] = to_float(load<Element>(row + n * std::int64_t(sizeof(Element))));
  }
}

template <class T>
void write_int8(const T* values, std::int64_t count, double scale, std::byte* to) {
  quantise(values, count, scale, kInt8, reinterpret_cast<std::int8_t*>(to));
}

void read_int8(const std::byte* from, std::int64_t count, float scale, float* values) {
  for (std::int64_t n = 0; n < count; ++n) values[n] = float(load<std::int8_t>(from + n)) * scale;
}

/// Where the two nibbles of byte n of a block belong.
struct Nibbles {
  std::int64_t low, high;
};
constexpr Nibbles neighbours(std::int64_t n) noexcept {
  return {2 * n, 2 * n + 1};
}
constexpr Nibbles halves(std::int64_t n) noexcept {
  return {n, n + kBlock / 2};
}
using Order = Nibbles (*)(std::int64_t);

template <class T>
void write_int4(const T* values, double scale, Order order, std::byte* to) {
  std::int8_t integers[kBlock];
  quantise(values, kBlock, scale, kInt4, integers);
  for (std::int64_t n = 0; n < kBlock / 2; ++n) {
    const auto [low, high] = order(n);
    to[n] = std::byte((integers[low] + 8) | (integers[high] + 8) << 4);
  }
}

void read_int4(const std::byte* from, float scale, Order order, float* values) {
  for (std::int64_t n = 0; n < kBlock / 2; ++n) {
    const auto [low, high] = order(n);
    const int byte = int(from[n]);
    values[low] = float((byte & 15) - 8) * scale;
    values[high] = float((byte >> 4) - 8) * scale;
  }
}

/// Stores the scale of a block of 32 and returns it.
template <class T>
double write_block_scale(const T* values, int levels, std::byte* scale) {
  const auto code = scale_code<F16Scale>(largest_magnitude(values, kBlock), levels);
  store(code, scale);
  return F16Scale::value(code);
}

float read_block_scale(const std::byte* scale) {
  return to_float(load<F16>(scale));
}

/// Blocks of 32 whose scales lie apart.
template <class T>
void write_blocks(KvType type, const T* values, std::int64_t columns, std::byte* row,
                  std::byte* scales) {
  const bool wide = type == KvType::int8_32;
  for (std::int64_t n = 0; n < columns; n += kBlock) {
    const double scale = write_block_scale(values + n, wide ? 127 : 7, scales);
    if (wide) {
      write_int8(values + n, kBlock, scale, row + n);
    } else {
      write_int4(values + n, scale, neighbours, row + n / 2);
    }
    scales += kHalfScale;
  }
}

void read_blocks(KvType type, const std::byte* row, const std::byte* scales, std::int64_t columns,
                 float* values) {
  for (std::int64_t n = 0; n < columns; n += kBlock) {
    const float scale = read_block_scale(scales);
    if (type == KvType::int8_32) {
      read_int8(row + n, kBlock, scale, values + n);
    } else {
      read_int4(row + n / 2, scale, neighbours, values + n);
    }
    scales += kHalfScale;
  }
}

/// ggml's blocks: the scale stands in front.
template <class T>
void write_ggml(KvType type, const T* values, std::int64_t columns, std::byte* row) {
  const bool wide = type == KvType::q8_0;
  for (std::int64_t n = 0; n < columns; n += kBlock) {
    const double scale = write_block_scale(values + n, wide ? 127 : 7, row);
    if (wide) {
      write_int8(values + n, kBlock, scale, row + kHalfScale);
    } else {
      write_int4(values + n, scale, halves, row + kHalfScale);
    }
    row += kv_row_bytes(type, kBlock);
  }
}

void read_ggml(KvType type, const std::byte* row, std::int64_t columns, float* values) {
  for (std::int64_t n = 0; n < columns; n += kBlock) {
    const float scale = read_block_scale(row);
    if (type == KvType::q8_0) {
      read_int8(row + kHalfScale, kBlock, scale, values + n);
    } else {
      read_int4(row + kHalfScale, scale, halves, values + n);
    }
    row += kv_row_bytes(type, kBlock);
  }
}

template <class T>
void write_int8_row(const T* values, std::int64_t columns, std::byte* row, std::byte* scale) {
  const auto code = scale_code<F32Scale>(largest_magnitude(values, columns), 127);
  store(F32Scale::number(code), scale);
  write_int8(values, columns, F32Scale::value(code), row);
}

}  // namespace

template <class T>
void write_row(KvType type, const T* values, std::int64_t columns, std::byte* row,
               std::byte* scales) noexcept {
  switch (type) {
    case KvType::f32:
      for (std::int64_t n = 0; n < columns; ++n) store(float(values[n]), row + 4 * n);
      return;
    case KvType::f16:
      return write_floats(values, columns, row, to_f16);
    case KvType::bf16:
      return write_floats(values, columns, row, to_bf16);
    case KvType::fp8_e4m3:
      return write_floats(values, columns, row, to_f8e4m3);
    case KvType::fp8_e5m2:
      return write_floats(values, columns, row, to_f8e5m2);
    case KvType::int8:
      return write_int8_row(values, columns, row, scales);
    case KvType::int8_32:
    case KvType::int4_32:
      return write_blocks(type, values, columns, row, scales);
    case KvType::q8_0:
    case KvType::q4_0:
      return write_ggml(type, values, columns, row);
  }
}
template void write_row(KvType, const float*, std::int64_t, std::byte*, std::byte*) noexcept;
template void write_row(KvType, const double*, std::int64_t, std::byte*, std::byte*) noexcept;

void read_row(KvType type, const std::byte* row, const std::byte* scales, std::int64_t columns,
              float* values) noexcept {
  switch (type) {
    case KvType::f32:
      std::memcpy(values, row, std::size_t(columns) * sizeof(float));
      return;
    case KvType::f16:
      return read_floats<F16>(row, columns, values);
    case KvType::bf16:
      return read_floats<BF16>(row, columns, values);
    case KvType::fp8_e4m3:
      return read_floats<F8E4M3>(row, columns, values);
    case KvType::fp8_e5m2:
      return read_floats<F8E5M2>(row, columns, values);
    case KvType::int8:
      return read_int8(row, columns, load<float>(scales), values);
    case KvType::int8_32:
    case KvType::int4_32:
      return read_blocks(type, row, scales, columns, values);
    case KvType::q8_0:
    case KvType::q4_0:
      return read_ggml(type, row, columns, values);
  }
}

}  // namespace regard::cache

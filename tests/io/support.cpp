#include "io/support.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>

#include "io/layout.h"

namespace regard::io {
namespace {

template <class T>
T element(const std::byte* data) {
  T value;
  std::memcpy(&value, data, sizeof(value));
  return value;
}

double half_value(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

/// Of a value that a half represents as a normal number or 0.
std::uint16_t half_bits(double value) {
  if (value == 0) return 0;
  int exponent = 0;
  const double fraction = std::frexp(std::abs(value), &exponent);
  const int bits = (exponent + 14) << 10 | (static_cast<int>(fraction * 2048) & 1023);
  return static_cast<std::uint16_t>(bits | (value < 0 ? 0x8000 : 0));
}

template <class T>
std::string bytes_of(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

std::string encoded(DType dtype, double value) {
  const auto single = static_cast<float>(value);
  switch (dtype) {
    case DType::f64:
      return bytes_of(value);
    case DType::f32:
      return bytes_of(single);
    case DType::f16:
      return bytes_of(half_bits(value));
    case DType::bf16:
      return bytes_of(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(single) >> 16));
    case DType::boolean:
      return bytes_of(value != 0);
    case DType::i64:
      return bytes_of(static_cast<std::int64_t>(value));
  }
  return {};
}

}  // namespace

ScratchDirectory::ScratchDirectory() {
  std::string name = (std::filesystem::temp_directory_path() / "regard-io-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no scratch directory");
  directory_ = name;
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

std::string ScratchDirectory::path(std::string_view name) const {
  return (directory_ / name).string();
}

std::vector<std::string> ScratchDirectory::names() const {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
    found.push_back(entry.path().filename().string());
  }
  std::ranges::sort(found);
  return found;
}

WithoutPrivileges::WithoutPrivileges(const ScratchDirectory& scratch) : before_(::geteuid()) {
  constexpr uid_t kNobody = 65534;
  std::filesystem::permissions(scratch.path(""), std::filesystem::perms::all);
  if (before_ == 0) {
    EXPECT_EQ(::seteuid(kNobody), 0);
  }
}

WithoutPrivileges::~WithoutPrivileges() {
  EXPECT_EQ(::seteuid(before_), 0);
}

std::string data_path(std::string_view name) {
  return std::string(REGARD_IO_DATA "/").append(name);
}

std::string read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_bytes(const std::string& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  EXPECT_TRUE(file.good()) << path;
}

std::string little_endian(std::uint64_t value, int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) bytes += i < 8 ? static_cast<char>(value >> 8 * i & 0xff) : '\0';
  return bytes;
}

std::string ramp_bytes(DType dtype, std::int64_t count) {
  std::string bytes;
  for (std::int64_t i = 0; i < count; ++i) bytes += encoded(dtype, static_cast<double>(i) / 2 - 1);
  return bytes;
}

std::string npy_file(std::string_view dictionary, std::string_view data) {
  std::string text(dictionary);
  text.append((64 - (text.size() + 11) % 64) % 64, ' ').append("\n");
  return std::string("\x93NUMPY\x01").append(1, '\0') + little_endian(text.size(), 2) + text +
         std::string(data);
}

double value_at(const Array& array, const std::vector<std::int64_t>& index) {
  std::int64_t offset = 0;
  for (std::size_t axis = 0; axis < index.size(); ++axis)
    offset += index[axis] * array.strides[axis];
  const std::byte* const at = array.data + offset * element_bytes(array.dtype);
  switch (array.dtype) {
    case DType::f64:
      return element<double>(at);
    case DType::f32:
      return element<float>(at);
    case DType::f16:
      return half_value(element<std::uint16_t>(at));
    case DType::bf16:
      return std::bit_cast<float>(static_cast<std::uint32_t>(element<std::uint16_t>(at)) << 16);
    case DType::boolean:
      return std::to_integer<int>(*at);
    case DType::i64:
      return static_cast<double>(element<std::int64_t>(at));
  }
  return NAN;
}

std::vector<double> values(const Array& array) {
  std::vector<double> found;
  if (std::ranges::count(array.shape, 0) != 0) return found;
  std::vector<std::int64_t> index(array.shape.size(), 0);
  while (true) {
    found.push_back(value_at(array, index));
    std::size_t axis = index.size();
    while (axis > 0 && ++index[axis - 1] == array.shape[axis - 1]) index[--axis] = 0;
    if (axis == 0) return found;
  }
}

std::vector<double> ramp_values(std::size_t count, DType dtype) {
  std::vector<double> ramp(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double value = static_cast<double>(i) / 2 - 1;
    ramp[i] = dtype == DType::boolean ? value != 0
              : dtype == DType::i64   ? std::trunc(value)
                                      : value;
  }
  return ramp;
}

Status read_copy(std::string_view bytes, std::vector<NamedArray>& arrays) {
  auto copy = std::make_shared<std::string>(bytes);
  const auto span = std::as_bytes(std::span(*copy));
  return read_arrays(span, copy, "file", arrays);
}

std::string error_of(std::string_view bytes) {
  std::vector<NamedArray> arrays = {{"kept", {}}};
  const Status status = read_copy(bytes, arrays);
  EXPECT_EQ(status.code(), StatusCode::io_error) << status.message();
  EXPECT_TRUE(arrays.size() == 1 && arrays[0].name == "kept") << "a failure changed the result";
  if (status.ok()) return {};
  EXPECT_TRUE(status.message().starts_with("file: ")) << status.message();
  return status.message();
}

Array read_one(const std::string& path) {
  std::vector<NamedArray> arrays;
  const Status status = read_arrays(path, arrays);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(arrays.size(), 1u) << path;
  return arrays.empty() ? Array{} : arrays[0].array;
}

}  // namespace regard::io

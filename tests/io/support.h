// What the tests of src/io share: scratch directories, byte strings, ramps and comparisons.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "io/arrays.h"

namespace regard::io {

/// A directory of its own, removed with everything in it.
class ScratchDirectory {
 public:
  ScratchDirectory();
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  std::string path(std::string_view name) const;
  /// Names of what it holds, sorted, hidden files included.
  std::vector<std::string> names() const;

 private:
  std::filesystem::path directory_;
};

/// For root, who may do anything, the rights of nobody; others keep what they have. `scratch` is
/// opened to all.
class WithoutPrivileges {
 public:
  explicit WithoutPrivileges(const ScratchDirectory& scratch);
  ~WithoutPrivileges();
  WithoutPrivileges(const WithoutPrivileges&) = delete;
  WithoutPrivileges& operator=(const WithoutPrivileges&) = delete;

 private:
  uid_t before_;
};

/// A file of data/, made by other programs.
std::string data_path(std::string_view name);

std::string read_bytes(const std::string& path);
void write_bytes(const std::string& path, std::string_view bytes);

/// `value` as `count` little-endian bytes; those past the eighth are 0.
std::string little_endian(std::uint64_t value, int count);

/// Bytes of `count` elements, i / 2 - 1 for the i-th: cut towards 0 for i64, not 0 for boolean.
std::string ramp_bytes(DType dtype, std::int64_t count);

/// A .npy file of version 1.0 around any dictionary and data.
std::string npy_file(std::string_view dictionary, std::string_view data);

/// The value of an element, whatever its type; `index` has one number an axis.
double value_at(const Array& array, const std::vector<std::int64_t>& index);

/// All values in C order.
std::vector<double> values(const Array& array);

/// i / 2 - 1 for the i-th of `count`, as `dtype` holds it.
std::vector<double> ramp_values(std::size_t count, DType dtype = DType::f32);

/// read_arrays() from a copy of `bytes` under the name "file".
Status read_copy(std::string_view bytes, std::vector<NamedArray>& arrays);

/// The sentence with which reading `bytes` fails; empty when it does not fail as an io_error.
std::string error_of(std::string_view bytes);

/// The only array of a file that must be readable.
Array read_one(const std::string& path);

}  // namespace regard::io

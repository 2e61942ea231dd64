// Arrays in files: .npy, .npz and .safetensors, for the command line and the tests.
// Files are not trusted: every size is checked before it is used, and a bad file is an io_error
// whose sentence names the file and what is wrong. Data is little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "regard/status.h"
#include "regard/tensor.h"

namespace regard::io {

/// An array of any rank over memory that `owner` keeps alive (a mapped file or a buffer).
struct Array {
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  ///< in elements
  const std::byte* data = nullptr;    ///< aligned to its element; null only when empty
  std::shared_ptr<const void> owner;
};

struct NamedArray {
  std::string name;  ///< empty for the single array of a .npy file
  Array array;
};

/// An array of an element type that is not read.
struct OtherArray {
  std::string name;
  std::string type;  ///< as the file spells it, in quotes and printable
};

enum class Format { npy, npz, safetensors };

/// Arrays of a file, in file order, memory-mapped where the format allows. The format is known by
/// the first bytes, not by the name. Where a .npz or .safetensors file also holds arrays of other
/// element types, those are left out and named in `others`; a file of nothing else is an error.
/// `data` is never null. A byte of a boolean that is not 0 is true, as it is to the library.
/// A mapped file must not be cut short while its arrays live; writing over it by write_npy() or
/// write_npz() is safe. On failure `arrays` is untouched, and `others`
/// says what a file of nothing else holds.
Status read_arrays(const std::string& path, std::vector<NamedArray>& arrays,
                   std::vector<OtherArray>* others = nullptr) noexcept;

/// The same from memory that `owner` keeps alive; `origin` stands for the path in sentences.
Status read_arrays(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                   std::string_view origin, std::vector<NamedArray>& arrays) noexcept;

/// Writes one .npy file (C order). The file appears under its name only when complete; on failure
/// or interruption nothing is left.
Status write_npy(const std::string& path, const Array& array) noexcept;

/// Writes a .npz file of named arrays, stored, in the same all-or-nothing way.
Status write_npz(const std::string& path, std::span<const NamedArray> arrays) noexcept;

/// Unlinks what the writers have in progress. Safe in a signal handler, which should then end the
/// program: a writer that goes on returns an io_error.
void remove_unfinished_files() noexcept;

}  // namespace regard::io

// Arguments of a call, by name. Written against Python's vectorcall convention, which costs a few
// comparisons of pointers a keyword.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace regard::python {

namespace nb = nanobind;

/// Every name that some function of this module takes.
enum class Name : std::uint8_t {
  q,
  k,
  v,
  scale,
  causal,
  q_offset,
  window,
  softcap,
  bias,
  mask,
  alibi_slopes,
  sinks,
  q_len,
  kv_len,
  precision,
  path,
  threads,
  layout,
  out,
  out_dtype,
  return_lse,
  return_weights,
  rows,
  weights_stage,
  stats,
  q_starts,
  kv_starts,
  sequences,
  starts,
  parents,
  count,
};

/// "q_offset"
const char* text(Name name) noexcept;

inline constexpr Name kQkv[] = {Name::q, Name::k, Name::v};

/// What a function takes: `positional` names first, which are required, then keywords: those of
/// every function, from scale to layout, and `more`.
struct Signature {
  const char* function;
  std::span<const Name> positional;
  std::span<const Name> more;

  bool has_keyword(Name name) const noexcept;
  bool has(Name name) const noexcept;
};

/// Borrowed references to what a caller gave; None counts as not given.
class Arguments {
 public:
  /// Raises TypeError as Python does for functions of its own.
  Arguments(const Signature& signature, PyObject* const* values, Py_ssize_t positional,
            PyObject* keywords);

  bool has(Name name) const noexcept { return given_[std::size_t(name)] != nullptr; }
  /// A null handle where it was not given.
  nb::handle operator[](Name name) const noexcept { return given_[std::size_t(name)]; }

 private:
  std::array<PyObject*, std::size_t(Name::count)> given_{};
};

/// repr(value) for a message: its first line, and of that the first characters.
std::string repr_text(nb::handle value);

/// What Python says of a call whose arguments do not fit, as TypeError. Of `names`, the keywords
/// that the function takes, the one most like `word` is proposed.
[[noreturn]] void raise_unexpected(const char* function, std::span<const char* const> names,
                                   nb::handle word);
[[noreturn]] void raise_given_twice(const char* function, nb::handle word);
[[noreturn]] void raise_too_many(const char* function, std::size_t taken, Py_ssize_t given);
[[noreturn]] void raise_missing(const char* function, const char* name);

/// Numbers and words of one argument. All raise TypeError or ValueError that says the name.
double number(Name name, nb::handle value);
std::int64_t integer(const char* name, nb::handle value);
inline std::int64_t integer(Name name, nb::handle value) {
  return integer(text(name), value);
}
/// What Python's `if` would say; false for a null handle.
bool truth(nb::handle value);
/// The same of an argument.
bool truth(Name name, nb::handle value);
/// The position of a str among `words`.
std::size_t choice(Name name, nb::handle value, std::span<const char* const> words);

/// Makes the names; once, when the module is imported.
void load_names();

}  // namespace regard::python

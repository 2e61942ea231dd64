// Reads the tokens of a Python literal, as the header of a .npy file holds one.
// White space before a token is skipped. Knows nothing of headers; makes no error of its own.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace regard::io {

class PythonLiteral {
 public:
  explicit PythonLiteral(std::string_view text) : text_(text) {}

  bool at_end();
  bool sees(char token);
  bool take(char token);
  bool take_word(std::string_view word);
  /// In single or double quotes, without escapes.
  bool take_string(std::string& value);
  /// Decimal digits behind an optional '-'; the 'L' that Python 2 wrote is dropped.
  bool take_integer(std::string& digits);
  /// Everything from '[' to the ']' that closes it, brackets included.
  bool take_brackets(std::string& content);

  /// "the header has 'x' at byte 7 where <expected> belongs", about the next token.
  std::string instead_of(std::string_view expected);

 private:
  void skip_space();

  std::string_view text_;
  std::size_t next_ = 0;
};

}  // namespace regard::io

#include "io/python_literal.h"

#include <fmt/format.h>

#include "io/file_error.h"

namespace regard::io {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

void PythonLiteral::skip_space() {
  constexpr std::string_view kSpace = " \t\r\n";
  next_ = std::min(text_.find_first_not_of(kSpace, next_), text_.size());
}

bool PythonLiteral::at_end() {
  skip_space();
  return next_ == text_.size();
}

bool PythonLiteral::sees(char token) {
  return !at_end() && text_[next_] == token;
}

bool PythonLiteral::take(char token) {
  if (!sees(token)) return false;
  ++next_;
  return true;
}

bool PythonLiteral::take_word(std::string_view word) {
  skip_space();
  if (!text_.substr(next_).starts_with(word)) return false;
  next_ += word.size();
  return true;
}

bool PythonLiteral::take_string(std::string& value) {
  if (!sees('\'') && !sees('"')) return false;
  const std::size_t end = text_.find(text_[next_], next_ + 1);
  if (end == std::string_view::npos) return false;
  const std::string_view content = text_.substr(next_ + 1, end - next_ - 1);
  if (content.find('\\') != std::string_view::npos) return false;
  value = content;
  next_ = end + 1;
  return true;
}

bool PythonLiteral::take_integer(std::string& digits) {
  skip_space();
  std::size_t end = next_;
  if (end < text_.size() && text_[end] == '-') ++end;
  const std::size_t first_digit = end;
  while (end < text_.size() && is_digit(text_[end])) ++end;
  if (end == first_digit) return false;
  digits = text_.substr(next_, end - next_);
  next_ = end;
  if (next_ < text_.size() && text_[next_] == 'L') ++next_;
  return true;
}

bool PythonLiteral::take_brackets(std::string& content) {
  if (!sees('[')) return false;
  std::size_t depth = 0;
  for (std::size_t end = next_; end < text_.size(); ++end) {
    if (text_[end] == '[') ++depth;
    if (text_[end] == ']' && --depth == 0) {
      content = text_.substr(next_, end + 1 - next_);
      next_ = end + 1;
      return true;
    }
  }
  return false;
}

std::string PythonLiteral::instead_of(std::string_view expected) {
  if (at_end()) return fmt::format("the header ends where {} belongs", expected);
  return fmt::format("the header has {} at byte {} where {} belongs",
                     in_quotes(text_.substr(next_, 1)), next_, expected);
}

}  // namespace regard::io

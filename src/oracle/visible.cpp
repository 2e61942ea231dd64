#include <limits>
#include <span>

#include "base/read.h"
#include "oracle/question.h"

namespace regard::oracle {
namespace {

/// The number of batch entry b, or `otherwise` where none is given.
std::int64_t entry(std::span<const std::int64_t> numbers, std::int64_t b, std::int64_t otherwise) {
  if (numbers.empty()) return otherwise;
  return numbers[numbers.size() == 1 ? 0 : std::size_t(b)];
}

std::int64_t rows_of(const Question& question, std::int64_t b) {
  return entry(question.options.q_len, b, question.q.shape[2]);
}

std::int64_t keys_of(const Question& question, std::int64_t b) {
  return entry(question.options.kv_len, b, question.k.shape[2]);
}

/// The first keys of a ring are held for good, and lie behind no window's left end.
bool is_first(const Question& question, std::int64_t j) {
  return j < question.held.keep_first;
}

bool is_held(const Question& question, std::int64_t b, std::int64_t j) {
  const auto& held_from = question.held.held_from;
  return held_from.empty() || is_first(question, j) || j >= held_from[std::size_t(b)];
}

bool in_window(const Question& question, Position position, std::int64_t j) {
  const Window& window = question.options.window;
  return (window.left == -1 || is_first(question, j) || j >= position - window.left) &&
         (window.right == -1 || j <= position + window.right);
}

}  // namespace

bool row_exists(const Question& question, const RowIndex& at) noexcept {
  return at.i < rows_of(question, at.b);
}

bool key_exists(const Question& question, const RowIndex& at, std::int64_t j) noexcept {
  return j < keys_of(question, at.b);
}

Position position(const Question& question, const RowIndex& at) noexcept {
  using Alignment = Deviation::Alignment;
  const Alignment alignment = question.deviation.alignment;
  std::int64_t aligned = 0;
  if (alignment == Alignment::padded) {
    aligned = question.k.shape[2] - question.q.shape[2];
  } else if (alignment == Alignment::bottom_right ||
             question.options.causal == Causal::bottom_right) {
    aligned = keys_of(question, at.b) - rows_of(question, at.b);
  }
  return Position{at.i} + entry(question.options.q_offset, at.b, aligned);
}

bool visible(const Question& question, const RowIndex& at, std::int64_t j) {
  const Options& options = question.options;
  if (!key_exists(question, at, j) || !is_held(question, at.b, j)) return false;
  const Position here = position(question, at);
  if (options.causal != Causal::none && j > here) return false;
  if (!in_window(question, here, j)) return false;
  const Shape place = {at.b, at.h, at.i, j};
  if (options.mask.data != nullptr &&
      base::read_bool(options.mask, place) == question.deviation.inverted_mask) {
    return false;
  }
  return options.bias.data == nullptr ||
         base::read_float(options.bias, place) != -std::numeric_limits<double>::infinity();
}

}  // namespace regard::oracle

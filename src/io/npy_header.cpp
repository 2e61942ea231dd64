#include "io/npy_header.h"

#include <fmt/format.h>

#include "io/element_names.h"
#include "io/file_error.h"
#include "io/python_literal.h"

namespace regard::io {
namespace {

constexpr std::size_t kVersionBytes = 2;

/// Checks magic and version; `length_bytes` is how many bytes then hold the header's length.
Status check_start(const Source& source, std::string_view content, std::size_t& length_bytes) {
  if (content.size() < kNpyMagic.size() + kVersionBytes) {
    return file_error(source.origin,
                      fmt::format("a .npy file starts with 8 bytes of magic and version, the file "
                                  "has {}",
                                  content.size()));
  }
  if (!content.starts_with(kNpyMagic)) {
    return file_error(source.origin, "does not begin with \"\\x93NUMPY\", as a .npy file does");
  }
  const int major = static_cast<unsigned char>(content[kNpyMagic.size()]);
  const int minor = static_cast<unsigned char>(content[kNpyMagic.size() + 1]);
  if (major < 1 || major > 3 || minor != 0) {
    return file_error(
        source.origin,
        fmt::format("its .npy version is {}.{}, none of 1.0, 2.0 and 3.0", major, minor));
  }
  length_bytes = major == 1 ? 2 : 4;
  return {};
}

/// Finds the text of the dictionary and the start of the data behind it.
Status find_dictionary(const Source& source, std::string_view& text, std::size_t& data_offset) {
  const auto& bytes = source.bytes;
  const std::string_view content(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::size_t length_bytes = 0;
  if (Status status = check_start(source, content, length_bytes); !status.ok()) return status;
  const std::size_t length_at = kNpyMagic.size() + kVersionBytes;
  const std::size_t start = length_at + length_bytes;
  if (bytes.size() < start) {
    return file_error(source.origin, fmt::format("the header's length ends at byte {}, the file "
                                                 "at {}",
                                                 start, bytes.size()));
  }
  std::size_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) {
    length |= std::to_integer<std::size_t>(bytes[length_at + i]) << 8 * i;
  }
  if (length > bytes.size() - start) {
    return file_error(source.origin, fmt::format("the header's length is {} bytes, the file has {} "
                                                 "left",
                                                 length, bytes.size() - start));
  }
  text = content.substr(start, length);
  data_offset = start + length;
  return {};
}

/// One axis; empty when sound, else what is wrong, like all that follows here.
std::string parse_axis(PythonLiteral& literal, std::vector<std::int64_t>& shape) {
  std::string digits;
  if (!literal.take_integer(digits)) return literal.instead_of("a whole number or ')'");
  if (digits.front() == '-') return fmt::format("its shape has the negative axis {}", digits);
  std::int64_t length = 0;
  for (const char digit : digits) {
    if (__builtin_mul_overflow(length, 10, &length) ||
        __builtin_add_overflow(length, digit - '0', &length)) {
      return fmt::format("its shape has the axis {}, more than 63 bits hold", in_quotes(digits));
    }
  }
  if (shape.size() == kMaxRank) return fmt::format("its shape has more than {} axes", kMaxRank);
  shape.push_back(length);
  return {};
}

std::string parse_shape(PythonLiteral& literal, std::vector<std::int64_t>& shape) {
  if (!literal.take('(')) return literal.instead_of("'('");
  while (!literal.take(')')) {
    if (std::string fault = parse_axis(literal, shape); !fault.empty()) return fault;
    // A tuple of one needs its comma: "(3)" is a number.
    const bool comma = literal.take(',');
    if (!comma && (shape.size() == 1 || !literal.sees(')'))) return literal.instead_of("','");
  }
  return {};
}

std::string parse_order(PythonLiteral& literal, Order& order) {
  if (literal.take_word("True")) {
    order = Order::fortran;
  } else if (literal.take_word("False")) {
    order = Order::c;
  } else {
    return literal.instead_of("True or False");
  }
  return {};
}

/// A structured type is a list in brackets, kept as it is spelled.
std::string parse_descr(PythonLiteral& literal, std::string& descr) {
  if (literal.take_string(descr) || literal.take_brackets(descr)) return {};
  return literal.instead_of("an element type");
}

struct Seen {
  bool descr = false;
  bool order = false;
  bool shape = false;
};

std::string parse_item(PythonLiteral& literal, NpyHeader& header, Seen& seen) {
  std::string key;
  if (!literal.take_string(key)) return literal.instead_of("a key in quotes or '}'");
  if (!literal.take(':')) return literal.instead_of("':'");
  bool* const seen_key = key == "descr"           ? &seen.descr
                         : key == "fortran_order" ? &seen.order
                         : key == "shape"         ? &seen.shape
                                                  : nullptr;
  if (seen_key == nullptr) return fmt::format("the header has the unknown key {}", in_quotes(key));
  if (*seen_key) return fmt::format("the header has the key {} twice", in_quotes(key));
  *seen_key = true;
  if (key == "descr") return parse_descr(literal, header.descr);
  if (key == "shape") return parse_shape(literal, header.shape);
  return parse_order(literal, header.order);
}

std::string parse_dictionary(PythonLiteral& literal, NpyHeader& header) {
  Seen seen;
  if (!literal.take('{')) return literal.instead_of("'{'");
  while (!literal.take('}')) {
    if (std::string fault = parse_item(literal, header, seen); !fault.empty()) return fault;
    if (!literal.take(',') && !literal.sees('}')) return literal.instead_of("',' or '}'");
  }
  if (!literal.at_end()) return literal.instead_of("the end of the header");
  if (!seen.descr) return "the header has no key 'descr'";
  if (!seen.order) return "the header has no key 'fortran_order'";
  if (!seen.shape) return "the header has no key 'shape'";
  return {};
}

}  // namespace

Status parse_npy_header(const Source& source, NpyHeader& header) {
  header = {};
  std::string_view text;
  if (Status status = find_dictionary(source, text, header.data_offset); !status.ok()) {
    return status;
  }
  PythonLiteral literal(text);
  const std::string fault = parse_dictionary(literal, header);
  if (!fault.empty()) return file_error(source.origin, fault);
  if (header.descr.starts_with('>')) {
    return file_error(source.origin, fmt::format("its elements are {}, big-endian; only "
                                                 "little-endian files are read",
                                                 in_quotes(header.descr)));
  }
  header.dtype = dtype_of_npy(header.descr);
  return {};
}

}  // namespace regard::io

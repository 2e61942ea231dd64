#include "shipped.h"

#include <span>
#include <sstream>

#include "command.h"

// REGARD_DATA is the folder data/; the assembler copies the files into read-only memory. Global but
// hidden names survive link-time optimisation.
#define REGARD_LABEL(label) \
  ".globl " label           \
  "\n"                      \
  ".hidden " label "\n" label ":\n"
#define REGARD_EMBED(name, file)                            \
  asm(".pushsection .rodata\n"                            \
      ".balign 64\n" REGARD_LABEL("regard_data_" #name)   \
      ".incbin \"" REGARD_DATA "/" file "\"\n"            \
      REGARD_LABEL("regard_data_" #name "_end")           \
      ".byte 0\n"                                         \
      ".popsection\n"); \
  extern "C" const std::byte regard_data_##name[];          \
  extern "C" const std::byte regard_data_##name##_end[]

REGARD_EMBED(lab, "lab.npz");
REGARD_EMBED(blocked, "blocked.npz");
REGARD_EMBED(minilm_layer0, "minilm_layer0.npz");
REGARD_EMBED(minilm_layer4, "minilm_layer4.npz");
REGARD_EMBED(minilm_tokens, "minilm_tokens.txt");

namespace regard::cli {
namespace {

struct Embedded {
  const char* name;
  std::span<const std::byte> bytes;
};

Embedded find(Shipped which) {
  switch (which) {
    case Shipped::lab:
      return {"lab.npz", {regard_data_lab, regard_data_lab_end}};
    case Shipped::blocked:
      return {"blocked.npz", {regard_data_blocked, regard_data_blocked_end}};
    case Shipped::minilm_layer0:
      return {"minilm_layer0.npz", {regard_data_minilm_layer0, regard_data_minilm_layer0_end}};
    case Shipped::minilm_layer4:
      return {"minilm_layer4.npz", {regard_data_minilm_layer4, regard_data_minilm_layer4_end}};
  }
  return {"nothing", {}};
}

/// Appends, in C order, what lies behind `data` along `axis` and those after it.
template <class T>
void append(const T* data, const io::Array& array, std::size_t axis, std::vector<double>& values) {
  if (axis == array.shape.size()) {
    values.push_back(double(*data));
    return;
  }
  for (std::int64_t n = 0; n < array.shape[axis]; ++n) {
    append(data + n * array.strides[axis], array, axis + 1, values);
  }
}

}  // namespace

std::vector<io::NamedArray> shipped_arrays(Shipped which) {
  const Embedded file = find(which);
  std::vector<io::NamedArray> arrays;
  require(io::read_arrays(file.bytes, nullptr, file.name, arrays));
  return arrays;
}

std::vector<std::string> shipped_tokens() {
  const auto* const begin = reinterpret_cast<const char*>(regard_data_minilm_tokens);
  const auto* const end = reinterpret_cast<const char*>(regard_data_minilm_tokens_end);
  std::istringstream lines(std::string(begin, end));
  std::vector<std::string> tokens;
  for (std::string line; std::getline(lines, line);) tokens.push_back(line);
  return tokens;
}

const io::Array& array_named(const std::vector<io::NamedArray>& arrays, const std::string& name) {
  for (const io::NamedArray& named : arrays) {
    if (named.name == name) return named.array;
  }
  throw Error("the shipped data holds no array named '" + name + "'");
}

std::vector<double> values_of(const io::Array& array) {
  std::vector<double> values;
  switch (array.dtype) {
    case DType::f32:
      append(reinterpret_cast<const float*>(array.data), array, 0, values);
      return values;
    case DType::f64:
      append(reinterpret_cast<const double*>(array.data), array, 0, values);
      return values;
    default:
      throw Error("the shipped data holds an array that is neither f32 nor f64");
  }
}

}  // namespace regard::cli

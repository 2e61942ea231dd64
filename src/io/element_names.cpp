#include "io/element_names.h"

#include <fmt/format.h>

namespace regard::io {
namespace {

struct ElementNames {
  DType dtype;
  std::string_view npy;
  std::string_view safetensors;
};

constexpr ElementNames kTable[] = {{DType::f64, "<f8", "F64"},      {DType::f32, "<f4", "F32"},
                                   {DType::f16, "<f2", "F16"},      {DType::bf16, "<V2", "BF16"},
                                   {DType::boolean, "|b1", "BOOL"}, {DType::i64, "<i8", "I64"}};

}  // namespace

std::optional<DType> dtype_of_npy(std::string_view descr) {
  for (const ElementNames& names : kTable) {
    if (descr == names.npy) return names.dtype;
  }
  if (descr == "|V2" || descr == "bfloat16") return DType::bf16;
  return std::nullopt;
}

std::string_view npy_name(DType dtype) {
  for (const ElementNames& names : kTable) {
    if (dtype == names.dtype) return names.npy;
  }
  return {};
}

std::optional<DType> dtype_of_safetensors(std::string_view name) {
  for (const ElementNames& names : kTable) {
    if (name == names.safetensors) return names.dtype;
  }
  return std::nullopt;
}

std::string npy_names() {
  std::string text;
  for (const ElementNames& names : kTable) {
    text += fmt::format("{}'{}'{}", text.empty() ? "" : ", ", names.npy,
                        names.dtype == DType::bf16 ? " (bfloat16)" : "");
  }
  return text;
}

std::string safetensors_names() {
  std::string text;
  for (const ElementNames& names : kTable) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", names.safetensors);
  }
  return text;
}

}  // namespace regard::io

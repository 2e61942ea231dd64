#include "api/c_types.h"

#include <algorithm>
#include <cstring>

namespace regard::api {
namespace {

constexpr bool same_numbers() {
  return REGARD_OK == int(StatusCode::ok) &&
         REGARD_INVALID_ARGUMENT == int(StatusCode::invalid_argument) &&
         REGARD_UNSUPPORTED == int(StatusCode::unsupported) &&
         REGARD_OUT_OF_MEMORY == int(StatusCode::out_of_memory) &&
         REGARD_CANCELLED == int(StatusCode::cancelled) &&
         REGARD_IO_ERROR == int(StatusCode::io_error) &&
         REGARD_INTERNAL == int(StatusCode::internal) && REGARD_F64 == int(DType::f64) &&
         REGARD_F32 == int(DType::f32) && REGARD_F16 == int(DType::f16) &&
         REGARD_BF16 == int(DType::bf16) && REGARD_BOOL == int(DType::boolean) &&
         REGARD_I64 == int(DType::i64) && REGARD_PATH_AUTOMATIC == int(Path::automatic) &&
         REGARD_PATH_DIRECT == int(Path::direct) && REGARD_PATH_TILES == int(Path::tiles) &&
         REGARD_PATH_DECODE == int(Path::decode);
}
static_assert(same_numbers(), "regard.h numbers its enumerations as the C++ headers do");

/// No struct of this interface will ever be larger: what says so was not initialised.
constexpr std::size_t kLargestStruct = 65536;

std::size_t struct_size(const void* given) noexcept {
  std::size_t bytes = 0;
  std::memcpy(&bytes, given, sizeof bytes);
  return bytes;
}

}  // namespace

regard_code answer(const Status& result, regard_status* status) noexcept {
  const auto code = regard_code(result.code());
  if (!status) return code;
  status->code = code;
  copy_text(result.message(), status->message, sizeof status->message);
  return code;
}

void copy_text(const std::string& text, char* to, std::size_t bytes) noexcept {
  if (!to || bytes == 0) return;
  const std::size_t length = std::min(text.size(), bytes - 1);
  std::memcpy(to, text.data(), length);
  to[length] = '\0';
}

Status check_array(const char* name, const void* numbers, std::int64_t count) {
  if (count < 0) {
    return base::invalid(std::string(name) + ": the count is " + std::to_string(count) +
                         ", below 0");
  }
  if (numbers || count == 0) return {};
  return base::invalid(std::string(name) + ": the pointer is null but the count is " +
                       std::to_string(count));
}

Tensor to_tensor(const regard_tensor& tensor) noexcept {
  Tensor view;
  view.data = tensor.data;
  const bool known = tensor.dtype >= REGARD_F64 && tensor.dtype <= REGARD_I64;
  view.dtype = DType(known ? tensor.dtype : 255);
  std::ranges::copy(tensor.shape, view.shape.begin());
  std::ranges::copy(tensor.strides, view.strides.begin());
  return view;
}

Tensor to_tensor(const regard_tensor* tensor) noexcept {
  return tensor ? to_tensor(*tensor) : Tensor{};
}

Status check_inputs(const regard_inputs* inputs) {
  return inputs ? Status() : null_pointer("inputs");
}

Status check_struct(const StructSize& size, const void* given) {
  if (!given) return null_pointer(size.name);
  const std::size_t bytes = struct_size(given);
  if (bytes >= size.first && bytes <= kLargestStruct) return {};
  return base::invalid(std::string(size.name) + ": struct_size is " + std::to_string(bytes) +
                       ", it must be sizeof of the struct, at least " + std::to_string(size.first));
}

Status load_struct(const StructSize& size, const void* from, void* to) {
  if (Status status = check_struct(size, from); !status.ok()) return status;
  const auto* bytes = static_cast<const unsigned char*>(from);
  const std::size_t given = struct_size(from);
  const std::size_t shared = std::min(given, size.known);
  std::memcpy(to, from, shared);
  if (std::all_of(bytes + shared, bytes + given, [](auto byte) { return byte == 0; })) return {};
  return base::unsupported(std::string(size.name) + ": struct_size is " + std::to_string(given) +
                           ", and beyond the " + std::to_string(size.known) +
                           " bytes that this version knows not all is 0");
}

void store_struct(const StructSize& size, const void* from, void* to) noexcept {
  std::memcpy(to, from, std::min(struct_size(to), size.known));
}

Status to_outputs(const regard_outputs* from, Outputs& outputs) {
  regard_outputs given = {};
  Status status = load_struct(size_of<regard_outputs>("outputs"), from, &given);
  if (!status.ok()) return status;
  outputs = {.out = to_tensor(given.out),
             .lse = to_tensor(given.lse),
             .weights = to_tensor(given.weights),
             .entropy = to_tensor(given.entropy),
             .top_weights = to_tensor(given.top_weights),
             .top_keys = to_tensor(given.top_keys),
             .key_mass = to_tensor(given.key_mass)};
  return {};
}

Status to_options(const regard_options* from, const Options*& options) {
  static const Options off;
  options = from ? &from->options : &off;
  return from ? from->failure : Status();
}

}  // namespace regard::api

// The setters of the C interface's options.
#include <new>
#include <string>

#include "api/c_types.h"

namespace regard::api {
namespace {

static_assert(REGARD_CAUSAL_NONE == int(Causal::none) &&
              REGARD_CAUSAL_TOP_LEFT == int(Causal::top_left) &&
              REGARD_CAUSAL_BOTTOM_RIGHT == int(Causal::bottom_right) &&
              REGARD_PRECISION_DEFAULT == int(Precision::default_) &&
              REGARD_PRECISION_HIGH == int(Precision::high) &&
              REGARD_STAGE_SOFTMAX == int(Stage::softmax) &&
              REGARD_STAGE_SCALED == int(Stage::scaled) &&
              REGARD_STAGE_CAPPED == int(Stage::capped) &&
              REGARD_STAGE_BIASED == int(Stage::biased));

/// Runs a setter, which returns a Status; the handle keeps the first failure.
template <class Setter>
regard_code set(regard_options* options, const Setter& setter) noexcept {
  if (!options) return REGARD_INVALID_ARGUMENT;
  Status result = base::guarded([&] { return setter(*options); });
  const auto code = regard_code(result.code());
  if (!result.ok() && options->failure.ok()) options->failure = std::move(result);
  return code;
}

template <class T>
regard_code set_value(regard_options* options, T Options::*member, const T& value) noexcept {
  return set(options, [&](regard_options& handle) {
    handle.options.*member = value;
    return Status();
  });
}

regard_code set_tensor(regard_options* options, ConstTensor Options::*member,
                       const regard_tensor* tensor) noexcept {
  return set_value<ConstTensor>(options, member, to_tensor(tensor));
}

/// `last` is the enumeration's largest number.
template <class T>
regard_code set_choice(regard_options* options, T Options::*member, const char* name,
                       std::int32_t number, T last) noexcept {
  return set(options, [&](regard_options& handle) {
    if (number < 0 || number > int(last)) {
      return base::invalid(std::string(name) + ": " + std::to_string(number) + " is not in 0 to " +
                           std::to_string(int(last)));
    }
    handle.options.*member = T(number);
    return Status();
  });
}

using Numbers = std::span<const std::int64_t>;

struct ArrayOption {
  const char* name;
  std::vector<std::int64_t> regard_options::*memory;
  Numbers Options::*member;
};

regard_code set_array(regard_options* options, const ArrayOption& option,
                      const std::int64_t* numbers, std::int64_t count) noexcept {
  return set(options, [&](regard_options& handle) {
    if (Status bad = check_array(option.name, numbers, count); !bad.ok()) return bad;
    std::vector<std::int64_t>& memory = handle.*option.memory;
    std::vector<std::int64_t> copy(numbers, numbers + count);
    memory.swap(copy);
    handle.options.*option.member = memory;
    return Status();
  });
}

}  // namespace
}  // namespace regard::api

using namespace regard::api;  // NOLINT(google-build-using-namespace)
using regard::Options;

regard_options* regard_options_new(void) {
  return new (std::nothrow) regard_options();
}

void regard_options_free(regard_options* options) {
  delete options;
}

regard_code regard_options_clear(regard_options* options) {
  if (!options) return REGARD_INVALID_ARGUMENT;
  *options = regard_options();
  return REGARD_OK;
}

regard_code regard_options_set_scale(regard_options* options, double scale) {
  return set_value<std::optional<double>>(options, &Options::scale, scale);
}

regard_code regard_options_set_softcap(regard_options* options, double softcap) {
  return set_value(options, &Options::softcap, softcap);
}

regard_code regard_options_set_bias(regard_options* options, const regard_tensor* bias) {
  return set_tensor(options, &Options::bias, bias);
}

regard_code regard_options_set_alibi_slopes(regard_options* options, const regard_tensor* slopes) {
  return set_tensor(options, &Options::alibi_slopes, slopes);
}

regard_code regard_options_set_sinks(regard_options* options, const regard_tensor* sinks) {
  return set_tensor(options, &Options::sinks, sinks);
}

regard_code regard_options_set_mask(regard_options* options, const regard_tensor* mask) {
  return set_tensor(options, &Options::mask, mask);
}

regard_code regard_options_set_causal(regard_options* options, regard_causal causal) {
  return set_choice(options, &Options::causal, "causal", causal, regard::Causal::bottom_right);
}

regard_code regard_options_set_q_offset(regard_options* options, const int64_t* offsets,
                                        int64_t count) {
  return set_array(options, {"q_offset", &regard_options::q_offset, &Options::q_offset}, offsets,
                   count);
}

regard_code regard_options_set_window(regard_options* options, int64_t left, int64_t right) {
  return set_value(options, &Options::window, regard::Window{left, right});
}

regard_code regard_options_set_q_len(regard_options* options, const int64_t* lengths,
                                     int64_t count) {
  return set_array(options, {"q_len", &regard_options::q_len, &Options::q_len}, lengths, count);
}

regard_code regard_options_set_kv_len(regard_options* options, const int64_t* lengths,
                                      int64_t count) {
  return set_array(options, {"kv_len", &regard_options::kv_len, &Options::kv_len}, lengths, count);
}

regard_code regard_options_set_precision(regard_options* options, regard_precision precision) {
  return set_choice(options, &Options::precision, "precision", precision, regard::Precision::high);
}

regard_code regard_options_set_path(regard_options* options, regard_path path) {
  return set_choice(options, &Options::path, "path", path, regard::Path::decode);
}

regard_code regard_options_set_threads(regard_options* options, int threads) {
  return set_value(options, &Options::threads, threads);
}

regard_code regard_options_set_rows(regard_options* options, const int64_t* rows, int64_t count) {
  return set_array(options, {"rows", &regard_options::rows, &Options::rows}, rows, count);
}

regard_code regard_options_set_weights_stage(regard_options* options, regard_stage stage) {
  return set_choice(options, &Options::weights_stage, "weights_stage", stage,
                    regard::Stage::biased);
}

regard_code regard_options_set_scratch(regard_options* options, void* scratch, size_t bytes) {
  return set(options, [&](regard_options& handle) {
    if (!scratch && bytes > 0) {
      return regard::base::invalid("scratch: the pointer is null but its size is " +
                                   std::to_string(bytes));
    }
    handle.options.scratch = {static_cast<std::byte*>(scratch), bytes};
    return regard::Status();
  });
}

regard_code regard_options_set_cancel(regard_options* options, regard_cancel cancel, void* user) {
  return set(options, [&](regard_options& handle) {
    handle.options.cancel = nullptr;
    if (cancel) handle.options.cancel = [cancel, user] { return cancel(user) != 0; };
    return regard::Status();
  });
}

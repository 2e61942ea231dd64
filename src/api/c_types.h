// The handles of the C interface, and its structs in terms of the C++ ones. Nothing here
// decides what a call means: only pointers, counts and enumerations are looked at.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/guard.h"
#include "base/status_text.h"
#include "regard/attention.h"
#include "regard/kv_cache.h"
#include "regard/regard.h"

// NOLINTBEGIN(readability-identifier-naming): names as C has them
struct regard_context {
  regard::Context context;
};

struct regard_options {
  /// Its spans point into the vectors below.
  regard::Options options;
  std::vector<std::int64_t> q_offset, q_len, kv_len, rows;
  /// Of the first setter that failed.
  regard::Status failure;
};

struct regard_kv_cache {
  regard::KvCache cache;
};
// NOLINTEND(readability-identifier-naming)

namespace regard::api {

/// Writes the code and the sentence, cut to the room there is; returns the code.
regard_code answer(const Status& result, regard_status* status) noexcept;

/// Copies as much as fits and a 0 behind it; nothing where there is no room.
void copy_text(const std::string& text, char* to, std::size_t bytes) noexcept;

/// Runs `call`, which returns a Status, behind the wall, and answers with its result.
template <class Call>
regard_code guarded_answer(regard_status* status, const Call& call) noexcept {
  return answer(base::guarded(call), status);
}

inline Status null_pointer(const char* name) {
  return base::invalid(std::string(name) + ": the pointer is null");
}

/// Refuses a negative count, and null where there is anything to point at.
Status check_array(const char* name, const void* numbers, std::int64_t count);

/// A type that is none becomes one that is none.
Tensor to_tensor(const regard_tensor& tensor) noexcept;
/// Absent where the pointer is null.
Tensor to_tensor(const regard_tensor* tensor) noexcept;

/// Refuses null.
Status check_inputs(const regard_inputs* inputs);

/// Size that a struct had in the first version of this interface: callers of that age say so.
template <class T>
inline constexpr std::size_t kFirstSize = sizeof(T);

/// Sizes of a struct whose first member is its caller's struct_size.
struct StructSize {
  const char* name;
  std::size_t first;  ///< least that a caller may say
  std::size_t known;  ///< to this version
};

/// Copies what the caller's struct has of `to`, the rest of which stays as it is. What this version
/// does not know has to be 0.
Status load_struct(const StructSize& size, const void* from, void* to);

/// Refuses null and what is smaller than the first version's.
Status check_struct(const StructSize& size, const void* given);

/// Copies into a checked struct what it has room for.
void store_struct(const StructSize& size, const void* from, void* to) noexcept;

template <class T>
StructSize size_of(const char* name) noexcept {
  return {name, kFirstSize<T>, sizeof(T)};
}

Status to_outputs(const regard_outputs* from, Outputs& outputs);

/// Points at what `from` holds or, for null, at options that are all off.
Status to_options(const regard_options* from, const Options*& options);

}  // namespace regard::api

// Outcome of a call: a code and, on failure, one sentence for people.
// The library never prints, aborts, exits or throws; every fallible call returns a Status.
#pragma once

#include <string>
#include <utility>

#include "regard/export.h"

namespace regard {

enum class StatusCode {
  ok,
  invalid_argument,  ///< the call contradicts itself; the sentence names the argument
  unsupported,       ///< the call is sound, this version cannot serve it
  out_of_memory,
  cancelled,  ///< the cancel hook said so; outputs are unspecified
  io_error,
  internal,
};

class [[nodiscard]] Status {
 public:
  Status() noexcept = default;
  Status(StatusCode code, std::string message) noexcept
      : code_(code), message_(std::move(message)) {}

  bool ok() const noexcept { return code_ == StatusCode::ok; }
  StatusCode code() const noexcept { return code_; }
  /// Empty when ok.
  const std::string& message() const noexcept { return message_; }

 private:
  StatusCode code_ = StatusCode::ok;
  std::string message_;
};

}  // namespace regard

// What a signal does: unfinished files go, and the program ends with 128 + the signal's number.
// A call in progress is cancelled first, through its hook, so that its threads end in order.
#pragma once

namespace regard::cli {

/// For SIGINT, SIGTERM and SIGHUP.
void install_signal_handlers();

/// True once a signal has come; what Options::cancel and progress hooks ask.
bool stop_requested() noexcept;

/// While one exists, the first signal only sets stop_requested(); the end of its life ends the
/// program if one came. A second signal ends the program at once.
class Cancellable {
 public:
  Cancellable() noexcept;
  ~Cancellable();
  Cancellable(const Cancellable&) = delete;
  Cancellable& operator=(const Cancellable&) = delete;
};

}  // namespace regard::cli

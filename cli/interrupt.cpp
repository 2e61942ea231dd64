#include "interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>

#include "io/arrays.h"

namespace regard::cli {
namespace {

std::atomic<int> received = 0;
std::atomic<bool> call_in_progress = false;
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

[[noreturn]] void end_program(int signal_number) {
  io::remove_unfinished_files();
  ::_exit(128 + signal_number);
}

void handle(int signal_number) {
  const bool first = received.exchange(signal_number) == 0;
  if (first && call_in_progress) return;
  end_program(signal_number);
}

}  // namespace

void install_signal_handlers() {
  struct sigaction action {};
  action.sa_handler = handle;
  for (const int signal_number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    ::sigaction(signal_number, nullptr, &before);
    // A parent that ignores a signal (nohup) means its children to ignore it, too.
    if (before.sa_handler != SIG_IGN) ::sigaction(signal_number, &action, nullptr);
  }
  // A file beyond the size limit is then a failed write with its own sentence.
  ::signal(SIGXFSZ, SIG_IGN);
}

bool stop_requested() noexcept {
  return received != 0;
}

Cancellable::Cancellable() noexcept {
  call_in_progress = true;
}

Cancellable::~Cancellable() {
  call_in_progress = false;
  if (received != 0) end_program(received);
}

}  // namespace regard::cli

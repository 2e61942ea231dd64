// A forked child with a time limit: a child that hangs is killed and reported.
#pragma once

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

namespace regard::test {

#if defined(__SANITIZE_THREAD__)
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kAddressSanitizer = true;
#else
inline constexpr bool kAddressSanitizer = false;
#endif

constexpr int kHung = -1;
constexpr int kCrashed = -2;

inline int wait_for(pid_t child, std::chrono::seconds limit = std::chrono::seconds(20)) {
  const auto end = std::chrono::steady_clock::now() + limit;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > end) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return kHung;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : kCrashed;
}

/// Forks; the child ends with the code that `body` returns, without running any destructor.
template <class Body>
pid_t start_child(const Body& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  return child;
}

template <class Body>
int in_child(const Body& body) {
  return wait_for(start_child(body));
}

}  // namespace regard::test

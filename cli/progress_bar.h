// A line on a terminal that says how far a check has come.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdint>

namespace regard::cli {

/// Drawn over again; nothing in a pipe. The line is gone when this is.
class ProgressBar {
 public:
  void show(std::int64_t done, std::int64_t total);
  ~ProgressBar();
  ProgressBar() = default;
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

 private:
  bool terminal_ = ::isatty(STDERR_FILENO) == 1;
  bool shown_ = false;
  std::chrono::steady_clock::time_point drawn_;
};

}  // namespace regard::cli

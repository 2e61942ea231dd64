#include "progress_bar.h"

#include <fmt/core.h>

#include <cstdio>
#include <string>

namespace regard::cli {

void ProgressBar::show(std::int64_t done, std::int64_t total) {
  const auto now = std::chrono::steady_clock::now();
  if (!terminal_ || total == 0 || now - drawn_ < std::chrono::milliseconds(50)) return;
  drawn_ = now;
  constexpr std::int64_t kWidth = 40;
  const auto filled = std::size_t(kWidth * done / total);
  fmt::print(stderr, "\r[{:.<{}}] {} of {} rows", std::string(filled, '#'), kWidth, done, total);
  std::fflush(stderr);
  shown_ = true;
}

ProgressBar::~ProgressBar() {
  if (shown_) std::fputs("\r\033[K", stderr);
}

}  // namespace regard::cli

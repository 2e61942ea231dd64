#include "check/walk.h"

#include <string>

#include "base/status_text.h"

namespace regard::judging {
namespace {

/// Keys visited between two calls of the progress hook: some tenths of a second at D = 128.
constexpr std::int64_t kKeysBetweenReports = std::int64_t{1} << 20;

}  // namespace

std::int64_t Sample::pick(std::int64_t n) {
  const std::int64_t length = total_ / count_, longer = total_ % count_;
  const std::int64_t start = n * length + std::min(n, longer);
  std::uniform_int_distribution<std::int64_t> within(0, length - (n < longer ? 0 : 1));
  return start + within(engine_);
}

Status stopped() {
  return {StatusCode::cancelled, "the progress hook stopped the call"};
}

Status require_count(const char* name, std::int64_t count) {
  if (count >= 0) return {};
  return base::invalid(std::string(name) + ": " + std::to_string(count) + " is below 0");
}

Walk::Walk(const Shape& out_shape, std::int64_t keys, const WalkSettings& settings)
    : heads_(out_shape[1]),
      rows_(out_shape[2]),
      interval_(std::max<std::int64_t>(1, kKeysBetweenReports / (keys + 1))),
      progress_(settings.progress),
      sample_(out_shape[0] * heads_ * rows_, settings.rows, settings.seed) {}

}  // namespace regard::judging

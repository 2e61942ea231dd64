#include "report.h"

#include <fmt/core.h>

#include "text.h"

namespace regard::cli {

void Report::claim(bool holds, const std::string& what, const std::string& figures) {
  fmt::print("  {}  {}\n        {}\n", holds ? "PASS" : "FAIL", what, wrapped(figures, 88, 8));
  count(holds);
}

void Report::count(bool holds) {
  ++claims_;
  if (!holds) ++failed_;
}

}  // namespace regard::cli

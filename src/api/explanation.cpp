// An explanation as text for people.
#include <cstdarg>
#include <cstdio>

#include "regard/attention.h"

namespace regard {
namespace {

[[gnu::format(printf, 2, 3)]] void add_line(std::string& text, const char* format, ...) {
  char line[512];
  std::va_list values;
  va_start(values, format);
  std::vsnprintf(line, sizeof line, format, values);
  va_end(values);
  text.append(line).append("\n");
}

using Long = long long;

}  // namespace

std::string to_text(const Explanation& e) {
  std::string text;
  add_line(text, "path      %s (%s)", path_name(e.path), e.path_reason.c_str());
  add_line(text, "unit      %s", e.unit.c_str());
  add_line(text, "isa       %s (%s)", e.isa.c_str(), e.isa_reason.c_str());
  add_line(text, "scores    %s", e.score_reason.c_str());
  add_line(text, "k and v   %s", e.input_reason.c_str());
  add_line(text, "tiles     %lld rows x %lld keys, in blocks of %lld keys", Long(e.rows_per_tile),
           Long(e.keys_per_tile), Long(e.keys_per_block));
  if (e.tiles_total > 0) {
    add_line(text, "visited   %lld of %lld tiles (%.1f%%), %.3g passes", Long(e.tiles_visited),
             Long(e.tiles_total), 100 * double(e.tiles_visited) / double(e.tiles_total), e.passes);
  }
  add_line(text, "threads   %d", e.threads);
  add_line(text, "items     %lld of up to %lld rows, %lld for chosen weights, %lld for key masses",
           Long(e.main_items), Long(e.rows_per_item), Long(e.weights_items), Long(e.mass_items));
  add_line(text, "scratch   %lld bytes", Long(e.scratch_bytes));
  return text;
}

}  // namespace regard

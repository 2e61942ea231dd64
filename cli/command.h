// What a subcommand is to main: flags added to a CLI11 app, and the work they ask for.
// Bad usage and bad input travel as Error up to main, which alone prints errors.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "app.h"
#include "regard/status.h"

namespace regard::cli {

inline constexpr int kFine = 0;
inline constexpr int kCheckFailed = 1;
inline constexpr int kBadUsage = 2;

/// Bad usage or bad input in one sentence; the program ends with kBadUsage.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws the sentence of a Status that is not ok.
inline void require(const Status& status) {
  if (!status.ok()) throw Error(status.message());
}

/// What the help of a command shows beside its name.
struct Page {
  std::string usage;                  ///< what stands behind "regard "
  std::string more;                   ///< examples and the like, below the flags
  std::vector<std::string> groups{};  ///< of flags; empty: all
};

struct Command {
  CLI::App* app = nullptr;
  std::function<Page()> help;  ///< after parsing, since a command may have several pages
  std::function<int()> work;   ///< after parsing; gives the exit code
};

Command add_demo(CLI::App& program);
Command add_lab(CLI::App& program);
Command add_run(CLI::App& program);
Command add_check(CLI::App& program);
Command add_bench(CLI::App& program);
Command add_info(CLI::App& program);

}  // namespace regard::cli

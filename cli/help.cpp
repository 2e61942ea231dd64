#include "help.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "regard/version.h"
#include "text.h"

namespace regard::cli {
namespace {

constexpr std::size_t kNameColumn = 26;
constexpr std::size_t kTextWidth = 70;

/// "  -o, --out FILE          what it does", wrapped.
std::string flag_line(const CLI::Option& option) {
  std::string names;
  for (const std::string& name : option.get_snames()) names += "-" + name + ", ";
  for (const std::string& name : option.get_lnames()) names += "--" + name;
  if (option.get_items_expected_max() > 0 && !option.get_type_name().empty()) {
    names += " " + option.get_type_name();
  }
  std::string line = fmt::format("  {:<{}}", names, kNameColumn - 2);
  if (names.size() + 4 > kNameColumn) line = fmt::format("  {}\n{:{}}", names, "", kNameColumn);
  return line + wrapped(option.get_description(), kTextWidth, kNameColumn) + "\n";
}

}  // namespace

std::string program_help(std::span<const Command> commands) {
  std::string help = fmt::format(
      "regard {} computes exact attention, softmax(scale q k') v, on this CPU.\n\n", kVersion);
  for (const Command& command : commands) {
    help +=
        fmt::format("  regard {:<8} {}\n", command.app->get_name(), command.app->get_description());
  }
  return help +
         "\nFirst steps:\n"
         "  regard lab                                   six tokens, their weights, three facts\n"
         "  regard lab --save lab.npz                    keep the arrays as files\n"
         "  regard run lab.npz --causal top_left -o out.npy\n"
         "  regard check lab.npz --causal top_left --out out.npy\n"
         "\n"
         "'regard COMMAND --help' explains a command and its flags. Arrays are .npy, .npz or\n"
         ".safetensors files. Exit codes: 0 fine, 1 a check failed, 2 bad usage or bad input.\n";
}

std::string command_help(const Command& command) {
  const Page page = command.help();
  std::string help = fmt::format("regard {}: {}\n\nusage: regard {}\n", command.app->get_name(),
                                 command.app->get_description(), page.usage);
  for (const std::string& group : command.app->get_groups()) {
    const auto& chosen = page.groups;
    if (!chosen.empty() && std::ranges::find(chosen, group) == chosen.end()) continue;
    std::string lines;
    for (const CLI::Option* option : command.app->get_options()) {
      const bool shown = option->nonpositional() && option != command.app->get_help_ptr();
      if (shown && option->get_group() == group) lines += flag_line(*option);
    }
    if (!lines.empty()) help += fmt::format("\n{}:\n{}", group, lines);
  }
  return help + "\n" + page.more;
}

}  // namespace regard::cli

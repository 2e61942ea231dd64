// The program `regard`: parses, runs one command, and tells what went wrong in one sentence.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <system_error>

#include "command.h"
#include "help.h"
#include "interrupt.h"
#include "regard/version.h"
#include "suggest.h"

namespace regard::cli {
namespace {

using Commands = std::array<Command, 6>;

std::vector<std::string> command_names(const Commands& commands) {
  std::vector<std::string> names;
  for (const Command& command : commands) names.push_back(command.app->get_name());
  return names;
}

std::vector<std::string> flag_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

/// Null when the words name no command, or end before one.
const Command* chosen(const Commands& commands) {
  const auto parsed = [](const Command& command) { return command.app->parsed(); };
  const auto found = std::find_if(commands.begin(), commands.end(), parsed);
  return found == commands.end() ? nullptr : &*found;
}

/// Words that neither a flag nor a file explains.
void refuse_leftovers(const CLI::App& program, const Commands& commands, const Command* command) {
  const std::vector<std::string> words = command ? command->app->remaining() : program.remaining();
  if (words.empty()) return;
  const auto is_flag = [](const std::string& word) { return word.starts_with("-"); };
  const auto flag = std::find_if(words.begin(), words.end(), is_flag);
  const std::string word = flag == words.end() ? words.front() : *flag;
  if (is_flag(word)) {
    const std::string name = word.substr(0, word.find('='));
    throw Error(fmt::format("'{}' is not a flag{}", name,
                            did_you_mean(name, flag_names(command ? *command->app : program))));
  }
  if (command) throw Error(fmt::format("'{}' is one word too many", word));
  const std::string near = did_you_mean(word, command_names(commands));
  throw Error(fmt::format("'{}' is not a command{}", word,
                          near.empty() ? "; 'regard --help' lists them" : near));
}

/// CLI11's own complaints that remain: a flag without its value, mostly.
std::string sentence_of(const CLI::ParseError& error, const Command* command) {
  const std::string text = error.what();
  const std::string name = text.substr(0, text.find(':'));
  const CLI::Option* option = command ? command->app->get_option_no_throw(name) : nullptr;
  if (option != nullptr && dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    return fmt::format("{}: its value is missing; it takes {}", name, option->get_type_name());
  }
  return text.substr(0, text.find('\n'));
}

int parse_and_run(CLI::App& program, const Commands& commands, std::vector<std::string> words) {
  // `regard help lab` is how some ask for `regard lab --help`.
  if (!words.empty() && words.front() == "help") {
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  std::reverse(words.begin(), words.end());  // the order that CLI11 takes a vector in
  try {
    program.parse(std::move(words));
  } catch (const CLI::CallForHelp&) {
    const Command* command = chosen(commands);
    fmt::print("{}", command ? command_help(*command) : program_help(commands));
    return kFine;
  } catch (const CLI::CallForVersion&) {
    fmt::print("regard {}\n", kVersion);
    return kFine;
  } catch (const CLI::ParseError& error) {
    throw Error(sentence_of(error, chosen(commands)));
  }
  const Command* command = chosen(commands);
  refuse_leftovers(program, commands, command);
  if (command) return command->work();
  fmt::print("{}", program_help(commands));
  return kFine;
}

void flush_output() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    throw Error(fmt::format("standard output cannot be written: {}", std::strerror(errno)));
  }
}

int run_program(const std::vector<std::string>& words) {
  CLI::App program;
  program.allow_extras();
  program.require_subcommand(0, 1);
  program.set_help_flag("-h,--help", "show this text");
  program.set_version_flag("--version", kVersion);
  const Commands commands = {add_demo(program),  add_lab(program),   add_run(program),
                             add_check(program), add_bench(program), add_info(program)};
  for (const Command& command : commands) {
    command.app->allow_extras();
    command.app->get_help_ptr()->description("show this text");
  }
  std::string sentence;
  try {
    const int code = parse_and_run(program, commands, words);
    flush_output();
    return code;
  } catch (const std::bad_alloc&) {
    sentence = "memory ran out";
  } catch (const std::system_error& error) {
    // fmt's word for a failed write, or a thread that could not be started.
    sentence = fmt::format(
        "{}: {}",
        std::ferror(stdout) != 0 ? "standard output cannot be written" : "the system refuses",
        error.code().message());
  } catch (const std::exception& error) {
    sentence = error.what();
  }
  const Command* command = chosen(commands);
  fmt::print(stderr, "regard{}: {}\n", command ? " " + command->app->get_name() : "", sentence);
  return kBadUsage;
}

}  // namespace
}  // namespace regard::cli

int main(int argc, char** argv) try {
  regard::cli::install_signal_handlers();
  return regard::cli::run_program({argv + 1, argv + argc});
} catch (...) {
  std::fputs("regard: memory ran out or standard error cannot be written\n", stderr);
  return regard::cli::kBadUsage;
}

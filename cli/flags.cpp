#include "flags.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>

#include "command.h"
#include "suggest.h"

namespace regard::cli {
namespace {

/// The long name without its commas: "--out" of "-o,--out".
std::string long_name(const Flag& flag) {
  return flag.names.substr(flag.names.rfind(',') + 1);
}

template <class T>
bool parse_whole(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

std::int64_t parse_integer(const std::string& flag, std::string_view text) {
  std::int64_t value = 0;
  if (!parse_whole(text, value)) {
    throw Error(fmt::format("{}: '{}' is not a whole number", flag, text));
  }
  return value;
}

}  // namespace

CLI::App* add_command(CLI::App& program, const std::string& name, const std::string& help) {
  return program.add_subcommand(name, help);
}

void begin_group(CLI::App& app, const std::string& title) {
  app.option_defaults()->group(title);
}

void add_word(CLI::App& app, const std::string& name, const std::string& help, std::string& word) {
  app.add_option(name, word, help);
}

void add_words(CLI::App& app, const std::string& name, const std::string& help,
               std::vector<std::string>& words) {
  app.add_option(name, words, help);
}

void add_value(CLI::App& app, const Flag& flag, const Take& take) {
  app.add_option_function<std::string>(flag.names, take, flag.help)
      ->type_name(flag.value)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

void add_each_value(CLI::App& app, const Flag& flag, const Take& take) {
  const auto take_all = [take](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) take(text);
  };
  app.add_option_function<std::vector<std::string>>(flag.names, take_all, flag.help)
      ->type_name(flag.value)
      ->expected(1)
      ->allow_extra_args(false)  // the next word is none of its values
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void add_switch(CLI::App& app, const std::string& names, const std::string& help, bool& on) {
  app.add_flag(names, on, help);
}

void add_text(CLI::App& app, const Flag& flag, std::string& text) {
  add_value(app, flag, [&text, name = long_name(flag)](const std::string& given) {
    if (given.empty()) throw Error(name + ": its value is empty");
    text = given;
  });
}

void add_number(CLI::App& app, const Flag& flag, std::optional<double>& number) {
  add_value(app, flag, [&number, name = long_name(flag)](const std::string& text) {
    double value = 0;
    if (!parse_whole(text, value)) {
      throw Error(fmt::format("{}: '{}' is not a number", name, text));
    }
    number = value;
  });
}

void add_integer(CLI::App& app, const Flag& flag, std::optional<std::int64_t>& number) {
  add_value(app, flag, [&number, name = long_name(flag)](const std::string& text) {
    number = parse_integer(name, text);
  });
}

void add_integers(CLI::App& app, const Flag& flag, std::vector<std::int64_t>& numbers) {
  add_value(app, flag, [&numbers, name = long_name(flag)](const std::string& text) {
    numbers = parse_integers(name, text, ',');
  });
}

std::size_t parse_choice(const std::string& flag, const std::string& text,
                         const std::vector<std::string>& names) {
  const auto found = std::find(names.begin(), names.end(), text);
  if (found != names.end()) return std::size_t(found - names.begin());
  throw Error(fmt::format("{}: '{}' is not one of {}{}", flag, text, fmt::join(names, ", "),
                          did_you_mean(text, names)));
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end = 0; end != std::string::npos; begin = end + 1) {
    end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end == std::string::npos ? end : end - begin));
  }
  return parts;
}

std::vector<std::int64_t> parse_integers(const std::string& flag, const std::string& text,
                                         char separator) {
  std::vector<std::int64_t> numbers;
  for (const std::string& part : split(text, separator)) {
    numbers.push_back(parse_integer(flag, part));
  }
  return numbers;
}

}  // namespace regard::cli

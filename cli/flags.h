// Adds one flag to a subcommand and reads its text. A text that means nothing is an Error whose
// sentence names the flag, the text and what would do.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app.h"

namespace regard::cli {

/// How a flag presents itself: "-o,--out", what its value is called, what it does.
struct Flag {
  std::string names;
  std::string value;
  std::string help;
};

/// What becomes of the text behind a flag.
using Take = std::function<void(const std::string& text)>;

/// A subcommand with its line in the list of commands.
CLI::App* add_command(CLI::App& program, const std::string& name, const std::string& help);
/// What is added from here on stands under `title` in the help.
void begin_group(CLI::App& app, const std::string& title);

/// Words that are no flags: one, or any number of them.
void add_word(CLI::App& app, const std::string& name, const std::string& help, std::string& word);
void add_words(CLI::App& app, const std::string& name, const std::string& help,
               std::vector<std::string>& words);

/// A flag with a value; the last of several counts.
void add_value(CLI::App& app, const Flag& flag, const Take& take);
/// The same, but each of several counts.
void add_each_value(CLI::App& app, const Flag& flag, const Take& take);
void add_switch(CLI::App& app, const std::string& names, const std::string& help, bool& on);
void add_text(CLI::App& app, const Flag& flag, std::string& text);
void add_number(CLI::App& app, const Flag& flag, std::optional<double>& number);
void add_integer(CLI::App& app, const Flag& flag, std::optional<std::int64_t>& number);
/// "0,5,7"
void add_integers(CLI::App& app, const Flag& flag, std::vector<std::int64_t>& numbers);

/// "a,b" with a separator of ',' is "a" and "b"; a text without it is itself.
std::vector<std::string> split(const std::string& text, char separator);
/// Which of `names` the text is.
std::size_t parse_choice(const std::string& flag, const std::string& text,
                         const std::vector<std::string>& names);
/// Whole numbers with `separator` between them.
std::vector<std::int64_t> parse_integers(const std::string& flag, const std::string& text,
                                         char separator);

template <class T>
using Choices = std::vector<std::pair<std::string, T>>;

/// Values in the words that the library has for them.
template <class T>
Choices<T> named(const char* (*name)(T) noexcept, std::initializer_list<T> values) {
  Choices<T> choices;
  for (const T value : values) choices.emplace_back(name(value), value);
  return choices;
}

/// A flag whose value is one of a few words; they are its value's name too.
template <class T>
void add_choice(CLI::App& app, const std::string& name, const std::string& help,
                const Choices<T>& choices, T& chosen) {
  std::vector<std::string> words;
  std::string value;
  for (const auto& choice : choices) {
    words.push_back(choice.first);
    value += (value.empty() ? "" : "|") + choice.first;
  }
  add_value(app, {name, value, help}, [=, &chosen](const std::string& text) {
    chosen = choices[parse_choice(name, text, words)].second;
  });
}

}  // namespace regard::cli

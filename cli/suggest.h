// Guesses which word was meant by one that does not exist.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace regard::cli {

/// "; did you mean X?" for the word nearest to `text`, or nothing when none is near.
std::string did_you_mean(std::string_view text, const std::vector<std::string>& words);

}  // namespace regard::cli

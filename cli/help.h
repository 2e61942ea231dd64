// Help texts: the short one that teaches what the program is for, and one for each command.
#pragma once

#include <span>
#include <string>

#include "command.h"

namespace regard::cli {

std::string program_help(std::span<const Command> commands);
std::string command_help(const Command& command);

}  // namespace regard::cli

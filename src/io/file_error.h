// Sentences about files: every error of this room is made here.
// Text that comes from a file is shown only through in_quotes().
#pragma once

#include <string>
#include <string_view>

#include "regard/status.h"

namespace regard::io {

/// io_error "<origin>: <what>".
Status file_error(std::string_view origin, std::string_view what);

/// io_error "<origin>: <what>: <the system's words for error_number>".
Status system_error(std::string_view origin, std::string_view what, int error_number);

/// out_of_memory naming `origin`; needs no memory itself when there is none.
Status memory_error(std::string_view origin) noexcept;

/// Untrusted text in quotes, cut at 60 bytes, with everything but printable ASCII as \xNN.
std::string in_quotes(std::string_view text);

}  // namespace regard::io

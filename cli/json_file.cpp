#include "json_file.h"

#include <fmt/core.h>

#include <span>

#include "command.h"

namespace regard::cli {

JsonFile::JsonFile(const std::string& flag, const std::string& path) : stdout_(path == "-") {
  if (stdout_) return;
  if (const Status status = file_.open(path); !status.ok()) {
    throw Error(flag + ": " + status.message());
  }
}

void JsonFile::write(const std::string& json) {
  if (stdout_) {
    fmt::print("{}\n", json);
    return;
  }
  const std::string text = json + "\n";
  require(file_.write(std::as_bytes(std::span(text))));
  require(file_.finish());
}

}  // namespace regard::cli

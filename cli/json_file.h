// Where a command puts its JSON.
#pragma once

#include <string>

#include "io/unfinished_file.h"

namespace regard::cli {

/// A file that appears under its name when complete, or standard output for "-". A file that cannot
/// be written is an Error of the constructor: before the work, not after it.
class JsonFile {
 public:
  JsonFile(const std::string& flag, const std::string& path);

  /// Tables for people are left out then.
  bool is_stdout() const { return stdout_; }
  void write(const std::string& json);

 private:
  bool stdout_;
  io::UnfinishedFile file_;
};

}  // namespace regard::cli

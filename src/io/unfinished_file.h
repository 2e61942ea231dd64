// A file that appears under its name only when complete: it grows under a temporary name in the
// same directory, and finish() renames it. Failure, destruction and remove_unfinished_files()
// unlink it. A target that is a device or a pipe is written directly.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "regard/status.h"

namespace regard::io {

class UnfinishedFile {
 public:
  UnfinishedFile() = default;
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;
  ~UnfinishedFile();

  /// Once. A target that is a symbolic link stays one: the file it names is replaced. At most 16
  /// files may be unfinished at a time, the room that a signal handler can search.
  Status open(const std::string& path);

  /// Writes at the position and moves it.
  Status write(std::span<const std::byte> bytes);

  Status seek(std::int64_t position);
  std::int64_t position() const { return position_; }

  /// Makes the content durable, then visible under its name.
  Status finish();

 private:
  Status open_temporary(mode_t mode);
  void close_and_forget() noexcept;

  std::string path_;    ///< as given, for sentences
  std::string target_;  ///< behind symbolic links
  std::string temporary_;
  std::int64_t position_ = 0;
  int file_ = -1;
  int slot_ = -1;  ///< where the signal handler finds `temporary_`; -1 when written directly
};

}  // namespace regard::io

// The two ends that libzip needs to write an archive: a sink over an unfinished file, and a stream
// that produces a .npy entry. They are called from C, so no exception leaves them.
#pragma once

#include <zip.h>

#include <array>
#include <cstddef>
#include <span>

#include "io/npy_stream.h"
#include "io/unfinished_file.h"

namespace regard::io {

/// Where the archive goes. To libzip it looks like a file that does not exist yet.
class ZipSink {
 public:
  /// `file` is open and outlives the archive; so does the sink.
  explicit ZipSink(UnfinishedFile& file) : file_(file) {}

  /// The first failure of the file, which libzip reports without its reason.
  const Status& status() const { return status_; }

  /// A zip_source_callback; `sink` is a ZipSink.
  static zip_int64_t serve(void* sink, void* data, zip_uint64_t length,
                           zip_source_cmd_t command) noexcept;

 private:
  zip_int64_t run(std::span<std::byte> data, zip_source_cmd_t command);

  UnfinishedFile& file_;
  Status status_;
};

/// Where an entry comes from.
class ZipEntryStream {
 public:
  explicit ZipEntryStream(const Array& array) : stream_(array) {}

  /// A zip_source_callback; `entry` is a ZipEntryStream, which outlives the archive.
  static zip_int64_t serve(void* entry, void* data, zip_uint64_t length,
                           zip_source_cmd_t command) noexcept;

 private:
  zip_int64_t read(std::span<std::byte> to);
  zip_int64_t describe(zip_stat_t& about) const;

  NpyStream stream_;
  std::span<const std::byte> ready_;  ///< produced, not yet handed over
};

}  // namespace regard::io

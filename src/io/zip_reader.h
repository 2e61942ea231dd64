// Reads a zip archive that lies in memory, through libzip: stored and deflated entries.
// Sizes are checked against each other and against the file; knows nothing of arrays.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/source.h"

struct zip;

namespace regard::io {

struct ArchiveCloser {
  void operator()(zip* archive) const;
};
using Archive = std::unique_ptr<zip, ArchiveCloser>;

struct ZipEntry {
  std::uint64_t index = 0;
  std::string name;
  std::uint64_t bytes = 0;  ///< as the archive says
  bool stored = false;
};

/// `source` must outlive the archive.
Status open_archive(const Source& source, Archive& archive);

/// Lists the entries whose names end in `suffix`; no two may share a name. Their packed bytes must
/// fit the file together, so that entries which share bytes cannot inflate to more than the
/// deflate format allows for the whole file.
Status list_entries(const Source& source, zip* archive, std::string_view suffix,
                    std::vector<ZipEntry>& entries);

/// The content of an entry as a source of its own. Memory grows with what really inflates, not
/// with what the archive says.
Status inflate_entry(const Source& source, zip* archive, const ZipEntry& entry, Source& content);

}  // namespace regard::io

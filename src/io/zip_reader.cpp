#include "io/zip_reader.h"

#include <fmt/format.h>
#include <zip.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "io/file_error.h"

namespace regard::io {
namespace {

struct EntryCloser {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};
using EntryFile = std::unique_ptr<zip_file_t, EntryCloser>;

Status examine(const Source& source, const zip_stat_t& about, ZipEntry& entry) {
  constexpr std::uint64_t kNeeded =
      ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
  if ((about.valid & kNeeded) != kNeeded) {
    return file_error(source.origin,
                      fmt::format("entry {} of the archive has no name or no size", about.index));
  }
  entry.index = about.index;
  entry.name = about.name;
  entry.bytes = about.size;
  entry.stored = about.comp_method == ZIP_CM_STORE;
  if ((about.valid & ZIP_STAT_ENCRYPTION_METHOD) != 0 && about.encryption_method != ZIP_EM_NONE) {
    return file_error(source.origin, fmt::format("entry {} is encrypted", in_quotes(entry.name)));
  }
  if (!entry.stored && about.comp_method != ZIP_CM_DEFLATE) {
    return file_error(source.origin, fmt::format("entry {} is compressed by method {}, neither "
                                                 "stored (0) nor deflated (8)",
                                                 in_quotes(entry.name), about.comp_method));
  }
  if (entry.stored && about.size != about.comp_size) {
    return file_error(source.origin,
                      fmt::format("entry {} is stored, yet its size is {} bytes and "
                                  "its stored size {}",
                                  in_quotes(entry.name), about.size, about.comp_size));
  }
  return {};
}

/// Reads until the entry ends or proves longer than it says. False when libzip fails.
bool read_growing(zip_file_t* file, const ZipEntry& entry, std::shared_ptr<std::byte>& buffer,
                  std::size_t& got) {
  constexpr std::uint64_t kFirstBytes = std::uint64_t{1} << 16;
  std::uint64_t capacity = entry.stored ? entry.bytes : std::min(entry.bytes, kFirstBytes);
  buffer = aligned_bytes(capacity);
  while (true) {
    if (got == capacity && got < entry.bytes) {
      capacity = entry.bytes - capacity > capacity ? 2 * capacity : entry.bytes;
      auto larger = aligned_bytes(capacity);
      std::memcpy(larger.get(), buffer.get(), got);
      buffer = std::move(larger);
    }
    // At the end one byte more is asked for: libzip compares size and checksum only there.
    std::byte beyond{};
    std::byte* const to = got == capacity ? &beyond : buffer.get() + got;
    const zip_int64_t read = zip_fread(file, to, std::max<std::uint64_t>(capacity - got, 1));
    if (read <= 0) return read == 0;
    got += static_cast<std::size_t>(read);
    if (got > entry.bytes) return true;
  }
}

}  // namespace

void ArchiveCloser::operator()(zip_t* archive) const {
  zip_discard(archive);
}

Status open_archive(const Source& source, Archive& archive) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* const bytes =
      zip_source_buffer_create(source.bytes.data(), source.bytes.size(), 0, &error);
  if (bytes != nullptr) archive.reset(zip_open_from_source(bytes, ZIP_RDONLY, &error));
  Status status;
  if (archive == nullptr) {
    status = file_error(source.origin,
                        fmt::format("the archive cannot be read: {}", zip_error_strerror(&error)));
    zip_source_free(bytes);
  }
  zip_error_fini(&error);
  return status;
}

Status list_entries(const Source& source, zip_t* archive, std::string_view suffix,
                    std::vector<ZipEntry>& entries) {
  std::unordered_set<std::string> names;
  std::uint64_t room = source.bytes.size();
  const auto count =
      static_cast<std::uint64_t>(std::max<zip_int64_t>(zip_get_num_entries(archive, 0), 0));
  for (std::uint64_t index = 0; index < count; ++index) {
    zip_stat_t about;
    zip_stat_init(&about);
    if (zip_stat_index(archive, index, 0, &about) != 0) {
      return file_error(source.origin, fmt::format("entry {} of the archive cannot be examined: {}",
                                                   index, zip_strerror(archive)));
    }
    if (about.name == nullptr || !std::string_view(about.name).ends_with(suffix)) continue;
    ZipEntry entry;
    if (Status status = examine(source, about, entry); !status.ok()) return status;
    if (!names.insert(entry.name).second) {
      return file_error(source.origin,
                        fmt::format("the archive has two entries {}", in_quotes(entry.name)));
    }
    if (about.comp_size > room) {
      return file_error(source.origin, fmt::format("entry {} says {} packed bytes, the file has "
                                                   "only {} left",
                                                   in_quotes(entry.name), about.comp_size, room));
    }
    room -= about.comp_size;
    entries.push_back(std::move(entry));
  }
  return {};
}

Status inflate_entry(const Source& source, zip_t* archive, const ZipEntry& entry, Source& content) {
  const EntryFile file(zip_fopen_index(archive, entry.index, 0));
  if (file == nullptr) {
    return file_error(source.origin, fmt::format("entry {} cannot be opened: {}",
                                                 in_quotes(entry.name), zip_strerror(archive)));
  }
  std::shared_ptr<std::byte> buffer;
  std::size_t got = 0;
  const bool sound = read_growing(file.get(), entry, buffer, got);
  if (got > entry.bytes) {
    return file_error(source.origin, fmt::format("entry {} says {} bytes, its content has more",
                                                 in_quotes(entry.name), entry.bytes));
  }
  if (got < entry.bytes) {
    return file_error(source.origin,
                      fmt::format("entry {} says {} bytes, {} could be read{}{}",
                                  in_quotes(entry.name), entry.bytes, got, sound ? "" : ": ",
                                  sound ? "" : zip_file_strerror(file.get())));
  }
  if (!sound) {
    return file_error(source.origin,
                      fmt::format("entry {} cannot be read: {}", in_quotes(entry.name),
                                  zip_file_strerror(file.get())));
  }
  content.bytes = {buffer.get(), got};
  content.owner = std::move(buffer);
  content.origin = fmt::format("{}: entry {}", source.origin, in_quotes(entry.name));
  return {};
}

}  // namespace regard::io

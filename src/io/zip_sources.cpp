#include "io/zip_sources.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace regard::io {
namespace {

constexpr zip_int64_t kFailed = -1;

zip_int64_t report(void* data, int zip_code, int system_code) {
  const std::array<int, 2> codes = {zip_code, system_code};
  std::memcpy(data, codes.data(), sizeof(codes));
  return sizeof(codes);
}

}  // namespace

zip_int64_t ZipSink::serve(void* sink, void* data, zip_uint64_t length,
                           zip_source_cmd_t command) noexcept {
  try {
    return static_cast<ZipSink*>(sink)->run({static_cast<std::byte*>(data), length}, command);
  } catch (...) {
    return kFailed;
  }
}

zip_int64_t ZipSink::run(std::span<std::byte> data, zip_source_cmd_t command) {
  switch (command) {
    case ZIP_SOURCE_SUPPORTS:
      return ZIP_SOURCE_SUPPORTS_WRITABLE;
    case ZIP_SOURCE_BEGIN_WRITE:
    case ZIP_SOURCE_COMMIT_WRITE:
    case ZIP_SOURCE_ROLLBACK_WRITE:
    case ZIP_SOURCE_REMOVE:
    case ZIP_SOURCE_FREE:
      return 0;
    case ZIP_SOURCE_TELL_WRITE:
      return file_.position();
    case ZIP_SOURCE_SEEK_WRITE: {
      // libzip 1.x seeks from the start only: back to an entry's header and on to its end.
      zip_source_args_seek_t seek{};
      std::memcpy(&seek, data.data(), sizeof(seek));
      status_ = file_.seek(seek.offset);
      return status_.ok() && seek.whence == SEEK_SET ? 0 : kFailed;
    }
    case ZIP_SOURCE_WRITE:
      status_ = file_.write(data);
      return status_.ok() ? static_cast<zip_int64_t>(data.size()) : kFailed;
    case ZIP_SOURCE_ERROR:
      return status_.ok() ? report(data.data(), ZIP_ER_READ, ENOENT)
                          : report(data.data(), ZIP_ER_WRITE, EIO);
    default:
      return kFailed;
  }
}

zip_int64_t ZipEntryStream::serve(void* entry, void* data, zip_uint64_t length,
                                  zip_source_cmd_t command) noexcept {
  auto& self = *static_cast<ZipEntryStream*>(entry);
  switch (command) {
    case ZIP_SOURCE_OPEN:
      self.stream_.rewind();
      self.ready_ = {};
      return 0;
    case ZIP_SOURCE_READ:
      return self.read({static_cast<std::byte*>(data), length});
    case ZIP_SOURCE_STAT:
      return self.describe(*static_cast<zip_stat_t*>(data));
    case ZIP_SOURCE_ERROR:
      return report(data, ZIP_ER_OPNOTSUPP, 0);
    case ZIP_SOURCE_CLOSE:
    case ZIP_SOURCE_FREE:
      return 0;
    case ZIP_SOURCE_SUPPORTS:
      return ZIP_SOURCE_SUPPORTS_READABLE;
    default:
      return kFailed;
  }
}

zip_int64_t ZipEntryStream::read(std::span<std::byte> to) {
  if (ready_.empty()) ready_ = stream_.next();
  const std::size_t count = std::min(ready_.size(), to.size());
  std::copy_n(ready_.begin(), count, to.begin());
  ready_ = ready_.subspan(count);
  return static_cast<zip_int64_t>(count);
}

zip_int64_t ZipEntryStream::describe(zip_stat_t& about) const {
  zip_stat_init(&about);
  about.size = static_cast<zip_uint64_t>(stream_.total_bytes());
  about.valid = ZIP_STAT_SIZE;
  return sizeof(about);
}

}  // namespace regard::io

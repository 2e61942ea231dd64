#include <fmt/format.h>
#include <zip.h>

#include <list>
#include <unordered_set>

#include "io/arrays.h"
#include "io/file_error.h"
#include "io/zip_reader.h"
#include "io/zip_sources.h"

namespace regard::io {
namespace {

/// Empty when the arrays can be entries of one archive, else what is wrong.
std::string check_entries(std::span<const NamedArray> arrays) {
  if (arrays.empty()) return "there are no arrays to write";
  std::unordered_set<std::string_view> names;
  for (const NamedArray& named : arrays) {
    if (named.name.empty()) return "an array to write has no name";
    if (!names.insert(named.name).second) {
      return fmt::format("two arrays to write are named {}", in_quotes(named.name));
    }
    std::string fault = check_writable(named.array);
    if (!fault.empty()) return fmt::format("{}: {}", in_quotes(named.name), fault);
  }
  return {};
}

Status archive_error(const std::string& path, std::string_view what, zip_error_t* error) {
  return file_error(path, fmt::format("{}: {}", what, zip_error_strerror(error)));
}

Status open_for_writing(const std::string& path, ZipSink& sink, Archive& archive) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* const target = zip_source_function_create(&ZipSink::serve, &sink, &error);
  if (target != nullptr) {
    archive.reset(zip_open_from_source(target, ZIP_CREATE | ZIP_TRUNCATE, &error));
  }
  Status status;
  if (archive == nullptr) {
    status = archive_error(path, "the archive cannot be started", &error);
    zip_source_free(target);
  }
  zip_error_fini(&error);
  return status;
}

Status add_entry(const std::string& path, zip_t* archive, const std::string& name,
                 ZipEntryStream& stream) {
  // The first day that a zip archive can name, so that the same arrays give the same bytes.
  constexpr zip_uint16_t kFirstDay = 1 << 5 | 1;
  zip_source_t* const source =
      zip_source_function_create(&ZipEntryStream::serve, &stream, zip_get_error(archive));
  zip_int64_t index = -1;
  if (source != nullptr) {
    index = zip_file_add(archive, (name + ".npy").c_str(), source, ZIP_FL_ENC_UTF_8);
    if (index < 0) zip_source_free(source);
  }
  const auto entry = static_cast<zip_uint64_t>(index);
  if (index < 0 || zip_set_file_compression(archive, entry, ZIP_CM_STORE, 0) != 0 ||
      zip_file_set_dostime(archive, entry, 0, kFirstDay, 0) != 0) {
    return archive_error(path, fmt::format("entry {} cannot be added", in_quotes(name)),
                         zip_get_error(archive));
  }
  return {};
}

Status write_archive(const std::string& path, std::span<const NamedArray> arrays) {
  UnfinishedFile file;
  if (Status status = file.open(path); !status.ok()) return status;
  ZipSink sink(file);
  std::list<ZipEntryStream> streams;
  Archive archive;
  if (Status status = open_for_writing(path, sink, archive); !status.ok()) return status;
  for (const NamedArray& named : arrays) {
    ZipEntryStream& stream = streams.emplace_back(named.array);
    Status status = add_entry(path, archive.get(), named.name, stream);
    if (!status.ok()) return status;
  }
  if (zip_close(archive.get()) != 0) {
    if (!sink.status().ok()) return sink.status();
    return archive_error(path, "the archive cannot be written", zip_get_error(archive.get()));
  }
  static_cast<void>(archive.release());  // closed, so no longer ours to discard
  return file.finish();
}

}  // namespace

Status write_npz(const std::string& path, std::span<const NamedArray> arrays) noexcept {
  try {
    if (std::string fault = check_entries(arrays); !fault.empty()) {
      return {StatusCode::invalid_argument, path + ": " + fault};
    }
    return write_archive(path, arrays);
  } catch (...) {
    return memory_error(path);
  }
}

}  // namespace regard::io

#include "io/npz.h"

#include <fmt/format.h>

#include <utility>

#include "io/element_names.h"
#include "io/file_error.h"
#include "io/npy.h"
#include "io/zip_reader.h"

namespace regard::io {
namespace {

constexpr std::string_view kSuffix = ".npy";

Status read_entry(const Source& content, const ZipEntry& entry, Found& found) {
  NpyHeader header;
  if (Status status = parse_npy_header(content, header); !status.ok()) return status;
  const std::string name = entry.name.substr(0, entry.name.size() - kSuffix.size());
  if (!header.dtype) {
    found.others.push_back({name, in_quotes(header.descr)});
    return {};
  }
  NamedArray named;
  named.name = name;
  Status status = read_npy_data(content, std::move(header), named.array);
  if (status.ok()) found.arrays.push_back(std::move(named));
  return status;
}

}  // namespace

Status read_npz(const Source& source, Found& found) {
  Archive archive;
  if (Status status = open_archive(source, archive); !status.ok()) return status;
  std::vector<ZipEntry> entries;
  if (Status listed = list_entries(source, archive.get(), kSuffix, entries); !listed.ok()) {
    return listed;
  }
  if (entries.empty()) return file_error(source.origin, "the archive holds no .npy entry");
  for (const ZipEntry& entry : entries) {
    Source content;
    if (Status status = inflate_entry(source, archive.get(), entry, content); !status.ok()) {
      return status;
    }
    if (Status status = read_entry(content, entry, found); !status.ok()) return status;
  }
  if (!found.arrays.empty()) return {};
  const OtherArray& first = found.others.front();
  return file_error(source.origin,
                    fmt::format("none of its {} arrays is {}: {} is {}", found.others.size(),
                                npy_names(), in_quotes(first.name), first.type));
}

}  // namespace regard::io

#include "io/npz.h"

#include <fmt/format.h>

#include <utility>

#include "io/file_error.h"
#include "io/npy.h"
#include "io/zip_reader.h"

namespace regard::io {
namespace {

constexpr std::string_view kSuffix = ".npy";

struct LeftOut {
  std::size_t count = 0;
  std::string first;  ///< its name and element type
};

Status read_entry(const Source& content, const ZipEntry& entry, std::vector<NamedArray>& arrays,
                  LeftOut& left_out) {
  NpyHeader header;
  if (Status status = parse_npy_header(content, header); !status.ok()) return status;
  if (!header.dtype) {
    if (++left_out.count == 1) {
      left_out.first = fmt::format("{} is {}", in_quotes(entry.name), in_quotes(header.descr));
    }
    return {};
  }
  NamedArray named;
  named.name = entry.name.substr(0, entry.name.size() - kSuffix.size());
  Status status = read_npy_data(content, std::move(header), named.array);
  if (status.ok()) arrays.push_back(std::move(named));
  return status;
}

}  // namespace

Status read_npz(const Source& source, std::vector<NamedArray>& arrays) {
  Archive archive;
  if (Status status = open_archive(source, archive); !status.ok()) return status;
  std::vector<ZipEntry> entries;
  if (Status listed = list_entries(source, archive.get(), kSuffix, entries); !listed.ok()) {
    return listed;
  }
  if (entries.empty()) return file_error(source.origin, "the archive holds no .npy entry");
  LeftOut left_out;
  for (const ZipEntry& entry : entries) {
    Source content;
    if (Status status = inflate_entry(source, archive.get(), entry, content); !status.ok()) {
      return status;
    }
    if (Status status = read_entry(content, entry, arrays, left_out); !status.ok()) return status;
  }
  if (!arrays.empty()) return {};
  return file_error(source.origin,
                    fmt::format("none of its {} arrays is '<f8', '<f4', '<f2' or '<V2' (bfloat16): "
                                "{}",
                                left_out.count, left_out.first));
}

}  // namespace regard::io

#include "io/safetensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "io/element_names.h"
#include "io/file_error.h"
#include "io/safetensors_header.h"

namespace regard::io {
namespace {

constexpr std::size_t kLengthBytes = 8;

/// Finds the JSON text; the data begins behind it.
Status find_header(const Source& source, std::string_view& json) {
  const std::size_t size = source.bytes.size();
  if (size < kLengthBytes) {
    return file_error(source.origin, fmt::format("a .safetensors file starts with 8 bytes of "
                                                 "header length, the file has {}",
                                                 size));
  }
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    length |= std::to_integer<std::uint64_t>(source.bytes[i]) << 8 * i;
  }
  if (length > size - kLengthBytes) {
    return file_error(source.origin, fmt::format("the header's length is {} bytes, the file has {} "
                                                 "left",
                                                 length, size - kLengthBytes));
  }
  json = {reinterpret_cast<const char*>(source.bytes.data()) + kLengthBytes, length};
  return {};
}

/// Empty when the tensors cover `data_bytes` exactly, each byte once.
std::string check_cover(const std::vector<TensorEntry>& entries, std::uint64_t data_bytes) {
  std::vector<const TensorEntry*> in_place;
  in_place.reserve(entries.size());
  for (const TensorEntry& entry : entries) in_place.push_back(&entry);
  std::ranges::sort(in_place, {}, [](const auto* e) { return std::pair(e->begin, e->end); });
  std::uint64_t covered = 0;
  for (const TensorEntry* entry : in_place) {
    if (entry->begin > entry->end) {
      return fmt::format("tensor {} begins at byte {} of the data and ends at {}",
                         in_quotes(entry->name), entry->begin, entry->end);
    }
    if (entry->begin != covered) {
      return fmt::format("tensor {} begins at byte {} of the data, the tensors before it end at {}",
                         in_quotes(entry->name), entry->begin, covered);
    }
    covered = entry->end;
  }
  if (covered == data_bytes) return {};
  return fmt::format("the header says {} bytes of data, the file has {}", covered, data_bytes);
}

std::string add_tensor(const Source& source, std::size_t data_offset, TensorEntry entry,
                       std::vector<NamedArray>& arrays) {
  const DType dtype = *dtype_of_safetensors(entry.dtype);
  Layout layout;
  if (!lay_out(dtype, entry.shape, Order::c, layout)) {
    return fmt::format("tensor {} of shape ({}) passes 2^63 bytes", in_quotes(entry.name),
                       fmt::join(entry.shape, ", "));
  }
  if (static_cast<std::uint64_t>(layout.bytes) != entry.end - entry.begin) {
    return fmt::format("the shape of tensor {} needs {} bytes, its data_offsets span {}",
                       in_quotes(entry.name), layout.bytes, entry.end - entry.begin);
  }
  Array array = place_array(source, data_offset + entry.begin, dtype, std::move(entry.shape),
                            std::move(layout));
  arrays.push_back({std::move(entry.name), std::move(array)});
  return {};
}

std::string add_tensors(const Source& source, std::size_t data_offset,
                        std::vector<TensorEntry> entries, Found& found) {
  if (entries.empty()) return "the file holds no tensors";
  std::string fault = check_cover(entries, source.bytes.size() - data_offset);
  if (!fault.empty()) return fault;
  for (TensorEntry& entry : entries) {
    if (!dtype_of_safetensors(entry.dtype)) {
      found.others.push_back({entry.name, in_quotes(entry.dtype)});
      continue;
    }
    fault = add_tensor(source, data_offset, std::move(entry), found.arrays);
    if (!fault.empty()) return fault;
  }
  if (!found.arrays.empty()) return {};
  const OtherArray& first = found.others.front();
  return fmt::format("none of its {} tensors is {}: {} is {}", found.others.size(),
                     safetensors_names(), in_quotes(first.name), first.type);
}

}  // namespace

Status read_safetensors(const Source& source, Found& found) {
  std::string_view json;
  if (Status status = find_header(source, json); !status.ok()) return status;
  std::vector<TensorEntry> entries;
  std::string fault = parse_safetensors_header(json, entries);
  if (fault.empty()) {
    fault = add_tensors(source, kLengthBytes + json.size(), std::move(entries), found);
  }
  return fault.empty() ? Status() : file_error(source.origin, fault);
}

}  // namespace regard::io

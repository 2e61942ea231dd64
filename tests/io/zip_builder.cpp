#include "io/zip_builder.h"

#include "io/support.h"

namespace regard::io {
namespace {

/// Version to flags, method, time, date, checksum, two sizes, two lengths: shared by both headers.
std::string common_fields(const ZipPart& part) {
  return little_endian(20, 2) + little_endian(part.encrypted ? 1 : 0, 2) +
         little_endian(static_cast<std::uint64_t>(part.method), 2) + little_endian(0, 2) +
         little_endian(33, 2) + little_endian(part.checksum.value_or(crc32(part.packed)), 4) +
         little_endian(part.packed_bytes.value_or(part.packed.size()), 4) +
         little_endian(part.bytes.value_or(part.packed.size()), 4) +
         little_endian(part.name.size(), 2) + little_endian(0, 2);
}

std::string local_part(const ZipPart& part) {
  return "PK\x03\x04" + common_fields(part) + part.name + part.packed;
}

std::string central_entry(const ZipPart& part, std::size_t offset) {
  return "PK\x01\x02" + little_endian(20, 2) + common_fields(part) + little_endian(0, 10) +
         little_endian(offset, 4) + part.name;
}

std::string end_record(std::size_t entries, std::size_t directory_bytes, std::size_t offset) {
  return "PK\x05\x06" + little_endian(0, 4) + little_endian(entries, 2) +
         little_endian(entries, 2) + little_endian(directory_bytes, 4) + little_endian(offset, 4) +
         little_endian(0, 2);
}

}  // namespace

std::uint32_t crc32(const std::string& bytes) {
  std::uint32_t rest = 0xffffffff;
  for (const char byte : bytes) {
    rest ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) rest = rest >> 1 ^ ((rest & 1) != 0 ? 0xedb88320 : 0);
  }
  return ~rest;
}

std::string deflate_block(const std::string& content) {
  constexpr std::uint64_t kLastAndUncompressed = 1;
  return little_endian(kLastAndUncompressed, 1) + little_endian(content.size(), 2) +
         little_endian(~content.size(), 2) + content;
}

std::string zip_file(const std::vector<ZipPart>& parts) {
  std::string file;
  std::string directory;
  for (const ZipPart& part : parts) {
    directory += central_entry(part, file.size());
    file += local_part(part);
  }
  return file + directory + end_record(parts.size(), directory.size(), file.size());
}

std::string shared_zip_file(const std::vector<std::string>& names, const std::string& content) {
  std::string file = local_part({.name = names.front(), .packed = content});
  const std::size_t offset = file.size();
  std::string directory;
  for (const std::string& name : names) {
    directory += central_entry({.name = name, .packed = content}, 0);
  }
  return file + directory + end_record(names.size(), directory.size(), offset);
}

}  // namespace regard::io

// Builds zip archives byte by byte, lies included.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace regard::io {

struct ZipPart {
  std::string name;
  std::string packed = {};  ///< as it stands in the file
  int method = 0;
  bool encrypted = false;
  std::optional<std::uint32_t> bytes = {};         ///< what the archive says; absent: of `packed`
  std::optional<std::uint32_t> packed_bytes = {};  ///< likewise
  std::optional<std::uint32_t> checksum = {};      ///< likewise
};

std::string zip_file(const std::vector<ZipPart>& parts);

/// An archive whose entries, one a name, all stand for the same stored bytes.
std::string shared_zip_file(const std::vector<std::string>& names, const std::string& content);

/// The checksum of a zip entry.
std::uint32_t crc32(const std::string& bytes);

/// `content` as one uncompressed deflate block.
std::string deflate_block(const std::string& content);

}  // namespace regard::io

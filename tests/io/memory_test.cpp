// Memory that reading takes: bounded by what is in the file, and a Status when there is none.
#include <cstdlib>
#include <new>

#include "io/support.h"
#include "io/zip_builder.h"

namespace {

std::size_t largest_request = 0;
std::size_t most_allowed = SIZE_MAX;

}  // namespace

// Readers take aligned memory for arrays and for nothing else.
void* operator new(std::size_t size, std::align_val_t alignment) {
  if (size > most_allowed) throw std::bad_alloc();
  largest_request = std::max(largest_request, size);
  const auto step = static_cast<std::size_t>(alignment);
  void* const memory = std::aligned_alloc(step, (size + step) / step * step);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace regard::io {
namespace {

std::string array_of(std::int64_t count) {
  return npy_file(
      "{'descr': '<f8', 'fortran_order': False, 'shape': (" + std::to_string(count) + ",)}",
      ramp_bytes(DType::f64, count));
}

/// A .npz file whose only entry inflates to 148 bytes and says `bytes`.
std::string lying_npz(std::uint32_t bytes) {
  const std::string content = read_bytes(data_path("rank1.npy"));
  ZipPart part = {.name = "a.npy", .packed = deflate_block(content), .method = 8};
  part.bytes = bytes;
  part.checksum = crc32(content);
  return zip_file({part});
}

TEST(Memory, ALyingArchiveTakesNone) {
  largest_request = 0;
  EXPECT_NE(error_of(lying_npz(4000000000)), "");
  EXPECT_LE(largest_request, 65536u);
  EXPECT_GT(largest_request, 0u) << "the test no longer sees what readers take";
}

TEST(Memory, ALyingShapeTakesNone) {
  largest_request = 0;
  EXPECT_NE(error_of(npy_file("{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1000000)}",
                              ramp_bytes(DType::f64, 1))),
            "");
  EXPECT_EQ(largest_request, 0u);
}

TEST(Memory, TooLittleIsAStatus) {
  const std::string file = zip_file({{.name = "a.npy", .packed = array_of(1000)}});
  std::vector<NamedArray> arrays;
  most_allowed = 4096;
  const Status status = read_copy(file, arrays);
  most_allowed = SIZE_MAX;
  EXPECT_EQ(status.code(), StatusCode::out_of_memory);
  EXPECT_EQ(status.message(), "file: there is not enough memory for its arrays");
  EXPECT_TRUE(read_copy(file, arrays).ok());
}

}  // namespace
}  // namespace regard::io

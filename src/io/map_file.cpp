#include "io/map_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "io/file_error.h"

namespace regard::io {
namespace {

class FileDescriptor {
 public:
  explicit FileDescriptor(int number) : number_(number) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }

 private:
  int number_;
};

Status map_regular(int file, std::size_t size, Source& source) {
  if (size == 0) return {};
  void* const start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  if (start == MAP_FAILED) return system_error(source.origin, "cannot be mapped", errno);
  source.owner = std::shared_ptr<const void>(
      start, [size](const void* mapped) { ::munmap(const_cast<void*>(mapped), size); });
  source.bytes = {static_cast<const std::byte*>(start), size};
  return {};
}

Status read_pipe(int file, Source& source) {
  constexpr std::size_t kStepBytes = std::size_t{1} << 16;
  auto content = std::make_shared<std::vector<std::byte>>();
  std::size_t size = 0;
  while (true) {
    if (content->size() - size < kStepBytes) content->resize(2 * size + kStepBytes);
    const ssize_t got = ::read(file, content->data() + size, content->size() - size);
    if (got == 0) break;
    if (got < 0 && errno != EINTR) return system_error(source.origin, "cannot be read", errno);
    if (got > 0) size += static_cast<std::size_t>(got);
  }
  source.bytes = {content->data(), size};
  source.owner = std::move(content);
  return {};
}

}  // namespace

Status map_file(const std::string& path, Source& source) {
  source = {.bytes = {}, .owner = nullptr, .origin = path};
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number() < 0) return system_error(path, "cannot be opened", errno);
  struct stat about {};
  if (::fstat(file.number(), &about) != 0) return system_error(path, "cannot be examined", errno);
  if (S_ISDIR(about.st_mode)) return file_error(path, "is a directory, not a file");
  if (S_ISFIFO(about.st_mode)) return read_pipe(file.number(), source);
  if (!S_ISREG(about.st_mode)) return file_error(path, "is neither a regular file nor a pipe");
  return map_regular(file.number(), static_cast<std::size_t>(about.st_size), source);
}

}  // namespace regard::io

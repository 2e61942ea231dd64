#include "io/unfinished_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <random>

#include "io/arrays.h"
#include "io/file_error.h"

namespace regard::io {
namespace {

/// What a signal handler can reach: fixed memory and lock-free flags.
struct Slot {
  std::atomic<bool> taken = false;
  std::atomic<bool> visible = false;  ///< `path` is complete and may be unlinked
  std::array<char, PATH_MAX> path{};
};
static_assert(std::atomic<bool>::is_always_lock_free);

std::array<Slot, 16> slots;

/// -1 when all are taken.
int take_slot() {
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (!slots[i].taken.exchange(true)) return static_cast<int>(i);
  }
  return -1;
}

void leave_slot(int slot) {
  Slot& left = slots[static_cast<std::size_t>(slot)];
  left.visible = false;
  left.taken = false;
}

/// False when the path does not fit.
bool show_path(int slot, const std::string& path) {
  Slot& shown = slots[static_cast<std::size_t>(slot)];
  if (path.size() >= shown.path.size()) return false;
  shown.visible = false;
  std::memcpy(shown.path.data(), path.c_str(), path.size() + 1);
  shown.visible = true;
  return true;
}

/// Short whatever the target is called, and hidden.
std::string temporary_name(const std::string& target) {
  static thread_local std::random_device random;
  const std::string directory = target.substr(0, target.rfind('/') + 1);
  return fmt::format("{}.regard-{:08x}{:08x}.tmp", directory, random(), random());
}

/// The file behind `path` when that is a symbolic link to something, else `path`.
std::string behind_links(const std::string& path) {
  struct stat about {};
  if (::lstat(path.c_str(), &about) != 0 || !S_ISLNK(about.st_mode)) return path;
  const std::unique_ptr<char, decltype(&::free)> real(::realpath(path.c_str(), nullptr), &::free);
  return real == nullptr ? path : real.get();
}

}  // namespace

void remove_unfinished_files() noexcept {
  const int saved = errno;
  for (const Slot& slot : slots) {
    if (slot.visible) ::unlink(slot.path.data());
  }
  errno = saved;
}

UnfinishedFile::~UnfinishedFile() {
  close_and_forget();
}

void UnfinishedFile::close_and_forget() noexcept {
  if (file_ >= 0) ::close(file_);
  file_ = -1;
  if (slot_ < 0) return;
  ::unlink(temporary_.c_str());
  leave_slot(slot_);
  slot_ = -1;
}

Status UnfinishedFile::open(const std::string& path) {
  path_ = path;
  target_ = behind_links(path);
  struct stat about {};
  const bool exists = ::stat(target_.c_str(), &about) == 0;
  if (exists && S_ISDIR(about.st_mode)) {
    return file_error(path, "is a directory, so no file can be written there");
  }
  // Renaming needs no right to the file that is replaced; writing over it should.
  if (exists && ::faccessat(AT_FDCWD, target_.c_str(), W_OK, AT_EACCESS) != 0) {
    return system_error(path, "cannot be written", errno);
  }
  // A new file gets what the umask leaves of 0666; one that is replaced keeps its permissions.
  constexpr mode_t kPermissions = 0777;
  // /dev/stdout and its like may lead to a regular file, which is somebody's stream all the same.
  const bool stream = target_ != path && path.starts_with("/dev/");
  if (!exists || (S_ISREG(about.st_mode) && !stream)) {
    return open_temporary(exists ? about.st_mode & kPermissions : 0);
  }
  file_ = ::open(target_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file_ < 0) return system_error(path, "cannot be opened for writing", errno);
  return {};
}

Status UnfinishedFile::open_temporary(mode_t mode) {
  slot_ = take_slot();
  if (slot_ < 0) {
    return file_error(
        path_, fmt::format("{} other files are being written, as many as can be", slots.size()));
  }
  do {
    temporary_ = temporary_name(target_);
    // Shown before it exists: a signal in between must find it.
    if (!show_path(slot_, temporary_)) {
      return system_error(path_, "cannot be written", ENAMETOOLONG);
    }
    file_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (file_ < 0 && errno == EEXIST);
  if (file_ < 0) return system_error(path_, "cannot be written", errno);
  if (mode != 0 && ::fchmod(file_, mode) != 0) {
    return system_error(path_, "cannot keep its permissions", errno);
  }
  return {};
}

Status UnfinishedFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_error(path_, "cannot be written", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    position_ += written;
  }
  return {};
}

Status UnfinishedFile::seek(std::int64_t position) {
  if (::lseek(file_, position, SEEK_SET) < 0) {
    return system_error(path_, "cannot be written out of order", errno);
  }
  position_ = position;
  return {};
}

Status UnfinishedFile::finish() {
  const bool renames = slot_ >= 0;
  if (renames && ::fsync(file_) != 0) return system_error(path_, "cannot be written", errno);
  const int file = file_;
  file_ = -1;
  if (::close(file) != 0) return system_error(path_, "cannot be written", errno);
  if (!renames) return {};
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) {
    return system_error(path_, "cannot be put in place", errno);
  }
  leave_slot(slot_);
  slot_ = -1;
  return {};
}

}  // namespace regard::io

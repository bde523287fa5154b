// SPDX-License-Identifier: Apache-2.0
#include "machine/user_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "machine/byte_source.h"
#include "machine/descriptor.h"
#include "machine/each_entry.h"
#include "machine/os_error.h"

namespace headroom::machine {
namespace {

Status write_all(int fd, std::string_view text, const std::string& doing) {
  while (!text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return os_error(errno, doing);
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  if (::fsync(fd) != 0) return os_error(errno, doing);
  return Done{};
}

// The rename itself is on disk once the folder is.
Status sync_folder_of(const std::string& path, const std::string& doing) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const Descriptor fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0 || ::fsync(fd.get()) != 0) return os_error(errno, doing);
  return Done{};
}

// The permissions the file has now, or the usual ones.
mode_t mode_for(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_mode & 07777U : 0644U;
}

class OpenFile : public RandomAccess {
 public:
  OpenFile(Descriptor file, const FileBytes& bytes) : file_(std::move(file)), bytes_(bytes) {}
  std::uint64_t size() const override { return bytes_.size(); }
  Result<std::size_t> read_at(std::uint64_t offset, std::span<char> buffer) const override {
    return bytes_.read_at(offset, buffer);
  }

 private:
  Descriptor file_;
  FileBytes bytes_;
};

}  // namespace

Result<std::unique_ptr<RandomAccess>> open_file(const std::string& path) {
  const std::string doing = "reading " + path;
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0) return os_error(errno, doing);
  auto bytes = FileBytes::of(file.get());
  if (!bytes) return std::move(bytes).error().in(doing);
  return std::make_unique<OpenFile>(std::move(file), *bytes);
}

Result<EntryKind> kind_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return os_error(errno, "looking at " + path);
  if (S_ISREG(status.st_mode)) return EntryKind::file;
  return S_ISDIR(status.st_mode) ? EntryKind::folder : EntryKind::other;
}

Result<std::vector<std::string>> list_folder(const std::string& path) {
  const std::string doing = "listing " + path;
  Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0) return os_error(errno, doing);
  std::vector<std::string> names;
  const int problem = each_entry(std::move(folder), [&](int /*folder*/, const dirent& entry) {
    names.emplace_back(entry.d_name);
  });
  if (problem != 0) return os_error(problem, doing);
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::string> read_file(const std::string& path, std::size_t limit) {
  const std::string doing = "reading " + path;
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0) return os_error(errno, doing);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return os_error(errno, doing);
  if (!S_ISREG(status.st_mode)) return Error{Errc::invalid, doing + ": not a file", ""};
  std::string text;
  std::array<char, 65536> chunk;
  for (;;) {
    const ssize_t count = ::read(file.get(), chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return os_error(errno, doing);
    if (count == 0) return text;
    text.append(chunk.data(), static_cast<std::size_t>(count));
    if (text.size() > limit) {
      return Error{Errc::invalid, fmt::format("{}: longer than {} bytes", doing, limit), ""};
    }
  }
}

Status write_file_atomic(const std::string& path, std::string_view text) {
  const std::string doing = "writing " + path;
  std::string beside = path + ".XXXXXX";
  const Descriptor file(::mkostemp(beside.data(), O_CLOEXEC));
  if (file.get() < 0) return os_error(errno, doing);
  Status written = write_all(file.get(), text, doing);
  if (written && ::fchmod(file.get(), mode_for(path)) != 0) written = os_error(errno, doing);
  if (written && ::rename(beside.c_str(), path.c_str()) != 0) written = os_error(errno, doing);
  if (!written) {
    ::unlink(beside.c_str());
    return written;
  }
  return sync_folder_of(path, doing);
}

}  // namespace headroom::machine

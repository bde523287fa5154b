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
#include <utility>

#include "machine/byte_source.h"
#include "machine/descriptor.h"
#include "machine/each_entry.h"
#include "machine/os_error.h"

namespace headroom::machine {
namespace {

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

bool is_same_file(const std::string& one, const std::string& other) {
  struct stat first {};
  struct stat second {};
  return ::stat(one.c_str(), &first) == 0 && ::stat(other.c_str(), &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
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
  if (!S_ISREG(status.st_mode))
    return Error{Errc::invalid,
                 fmt::format("{}: expected a file, found {}", doing,
                             S_ISDIR(status.st_mode) ? "a folder" : "a device or a pipe"),
                 ""};
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

}  // namespace headroom::machine

// SPDX-License-Identifier: Apache-2.0
// A tree into a folder. Every step is taken from the folder's own descriptor by openat2 with
// RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS: the kernel itself refuses to leave, also while somebody
// else moves things about.
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/text.h"
#include "machine/descriptor.h"
#include "machine/os_error.h"
#include "machine/tree_writer.h"

namespace headroom::machine {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t path_bytes_max = 4095;  // Of Linux.

class FolderWriter : public TreeWriter {
 public:
  FolderWriter(std::string root, Descriptor folder, bool made)
      : root_(std::move(root)), folder_(std::move(folder)), made_(made) {}

  ~FolderWriter() override {
    if (finished_) return;
    std::error_code ignored;
    if (made_) {
      fs::remove_all(root_, ignored);
      return;
    }
    for (const auto& entry : fs::directory_iterator(root_, ignored)) {
      fs::remove_all(entry.path(), ignored);
    }
  }

  Status folder(const std::string& path) override {
    HEADROOM_TRY(const std::string name, clean_path(path));
    HEADROOM_TRY(const Place place, enter(name));
    return make_folder(place, name);
  }

  Status file(const std::string& path, std::string_view bytes) override {
    HEADROOM_TRY(const std::string name, clean_path(path));
    HEADROOM_TRY(const Place place, enter(name));
    const Descriptor file(::openat(place.folder, place.name.c_str(),
                                   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
    if (file.get() < 0) return failed(name);
    while (!bytes.empty()) {
      const ssize_t count = ::write(file.get(), bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return failed(name);
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return Done{};
  }

  Status link(const std::string& path, const std::string& target) override {
    HEADROOM_TRY(const std::string name, clean_path(path));
    HEADROOM_TRY(const Place place, enter(name));
    if (::symlinkat(target.c_str(), place.folder, place.name.c_str()) != 0) return failed(name);
    return Done{};
  }

  Status finish() override {
    finished_ = true;
    return Done{};
  }

 private:
  struct Place {
    int folder = -1;   // Of the last folder entered; not to be closed.
    std::string name;  // In that folder.
  };

  Error failed(const std::string& name) const {
    return os_error(errno, fmt::format("writing {}/{}", root_, name));
  }

  int open_beneath(const std::string& name) const {
    open_how how{};
    how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
    return static_cast<int>(::syscall(SYS_openat2, folder_.get(), name.c_str(), &how, sizeof how));
  }

  // The folder that `name` lies in, made with all above it. Names come folder by folder, so the
  // last one is kept open.
  Result<Place> enter(const std::string& name) {
    const std::size_t slash = name.rfind('/');
    if (slash == std::string::npos) return Place{folder_.get(), name};
    const std::string above = name.substr(0, slash);
    if (above != entered_name_) {
      int fd = open_beneath(above);
      if (fd < 0 && errno == ENOENT) {
        HEADROOM_TRY(const Place place, enter(above));
        HEADROOM_CHECK(make_folder(place, above));
        fd = open_beneath(above);
      }
      if (fd < 0) return failed(above);
      entered_ = Descriptor(fd);
      entered_name_ = above;
    }
    return Place{entered_.get(), name.substr(slash + 1)};
  }

  Status make_folder(const Place& place, const std::string& name) const {
    if (::mkdirat(place.folder, place.name.c_str(), 0755) == 0) return Done{};
    struct stat status {};
    if (errno == EEXIST &&
        ::fstatat(place.folder, place.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISDIR(status.st_mode)) {
      return Done{};
    }
    errno = EEXIST;
    return failed(name);
  }

  std::string root_;
  Descriptor folder_;
  bool made_;  // The folder itself is ours to remove.
  bool finished_ = false;
  std::string entered_name_;
  Descriptor entered_;
};

}  // namespace

Result<std::string> clean_path(std::string_view path) {
  std::vector<std::string> names;
  const auto refused = [&](const char* why) {
    return Error{Errc::invalid, fmt::format("the path \"{}\" {}", path, why), ""};
  };
  if (path.size() > path_bytes_max) return refused("is too long");
  if (path.starts_with('/')) return refused("starts at the root");
  if (path.find('\0') != std::string_view::npos) return refused("holds a zero byte");
  for (const std::string_view name : split(path, '/')) {
    if (name == "..") return refused("leads upwards");
    if (!name.empty() && name != ".") names.emplace_back(name);
  }
  if (names.empty()) return refused("names nothing");
  return join(names, "/");
}

bool is_occupied(const std::string& path) {
  std::error_code failure;
  const fs::file_status status = fs::symlink_status(path, failure);
  if (failure || !fs::exists(status)) return false;
  return !fs::is_directory(path, failure) || !fs::is_empty(path, failure) || failure;
}

Result<std::unique_ptr<TreeWriter>> make_folder_writer(const std::string& path) {
  const bool made = ::mkdir(path.c_str(), 0755) == 0;
  if (!made && errno != EEXIST) return os_error(errno, "making the folder " + path);
  Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0) return os_error(errno, "opening the folder " + path);
  std::error_code failure;
  const bool empty = fs::is_empty(path, failure);
  if (failure) return os_error(failure.value(), "listing " + path);
  if (!empty) {
    return Error{Errc::invalid, "expected an empty folder or none, " + path + " is not empty", ""};
  }
  return std::make_unique<FolderWriter>(path, std::move(folder), made);
}

}  // namespace headroom::machine

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

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "machine/descriptor.h"
#include "machine/each_name.h"
#include "machine/os_error.h"
#include "machine/provisional.h"
#include "machine/remove_tree.h"
#include "machine/tree_writer.h"

namespace headroom::machine {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t path_bytes_max = 4095;  // Of Linux.

// What is in a draft, into the folder that the draft itself is in; the manifest last, as without
// one it is no record. 0 or an errno.
int move_up(int draft, int folder) {
  constexpr std::string_view last = "MANIFEST.json";
  std::vector<std::string> names;
  each_name(draft, [&](const char* name) { names.emplace_back(name); });
  std::partition(names.begin(), names.end(), [&](const auto& name) { return name != last; });
  for (std::size_t done = 0; done < names.size(); ++done) {
    const int failure = rename_to_new(draft, names[done], folder, names[done]);
    if (failure == 0) continue;
    while (done-- > 0) remove_tree(folder, names[done].c_str());
    return failure;
  }
  return 0;
}

class FolderWriter : public TreeWriter {
 public:
  using Finish = std::function<int(int folder)>;  // 0 or an errno.

  FolderWriter(std::string root, Descriptor folder, Finish put_in_place)
      : root_(std::move(root)),
        folder_(std::move(folder)),
        put_in_place_(std::move(put_in_place)) {}

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
    const int failure = put_in_place_(folder_.get());
    if (failure != 0) return os_error(failure, "writing " + root_);
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
  Finish put_in_place_;
  std::string entered_name_;
  Descriptor entered_;
};

// A draft in the folder `parent`, to be put in its place by `finish`.
Result<std::unique_ptr<TreeWriter>> make_draft(
    const std::string& path, const std::string& parent,
    const std::function<int(const Provisional& draft, int folder)>& finish) {
  const std::string doing = "making the folder " + path;
  HEADROOM_TRY(Provisional made, Provisional::make(parent, provisional_beginning, doing));
  // Shared, as a function has to be copied.
  const auto draft = std::make_shared<Provisional>(std::move(made));
  if (::mkdirat(draft->parent(), draft->name().c_str(), 0755) != 0) return os_error(errno, doing);
  Descriptor folder(::openat(draft->parent(), draft->name().c_str(),
                             O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (folder.get() < 0) return os_error(errno, "opening the folder " + path);
  return std::make_unique<FolderWriter>(
      path, std::move(folder), [draft, finish](int written) { return finish(*draft, written); });
}

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
  std::error_code failure;
  if (!fs::exists(fs::symlink_status(path, failure))) {
    const Placed place = place_of(path);
    return make_draft(path, place.folder, [name = place.name](const auto& draft, int) {
      return draft.keep_as(draft.parent(), name);
    });
  }
  const bool empty = fs::is_empty(path, failure);
  if (failure) return os_error(failure.value(), "listing " + path);
  if (!empty) {
    return Error{Errc::invalid, "expected an empty folder or none, " + path + " is not empty", ""};
  }
  return make_draft(path, path, [](const Provisional& draft, int folder) {
    return move_up(folder, draft.parent());
  });
}

Result<std::unique_ptr<TreeWriter>> make_writer_into(const TemporaryFolder& folder) {
  Descriptor opened(::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.get() < 0) return os_error(errno, "opening the folder " + folder.path());
  return std::make_unique<FolderWriter>(folder.path(), std::move(opened), [](int) { return 0; });
}

}  // namespace headroom::machine

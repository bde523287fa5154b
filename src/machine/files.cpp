// SPDX-License-Identifier: Apache-2.0
#include "machine/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/text.h"
#include "machine/acts_when_read.h"
#include "machine/byte_source.h"
#include "machine/clock.h"
#include "machine/each_entry.h"
#include "machine/os_error.h"

namespace headroom::machine {
namespace {

constexpr std::size_t link_text_max = 4096;

// Not noted in a record: what the path is tells it again.
Error no_link(std::string_view path) {
  return os_error(EINVAL, "reading the link " + absolute(path));
}

}  // namespace

Result<Files> Files::open(const std::string& root, Recording* recording) {
  HEADROOM_TRY(RootFolder folder, RootFolder::open(root));
  Files files(std::move(folder));
  if (!files.is_real()) {
    if (const auto manifest = files.read("/MANIFEST.json", std::size_t{16} << 20U)) {
      files.manifest_ = parse_manifest(*manifest);
      files.add_real_names();
    }
  }
  files.recording_ = recording;
  return files;
}

int Files::open_quietly(std::string_view path, int flags) const {
  const std::string name = relative(path);
  const int fd = root_.open_path(name, flags);
  if (fd != -ENOTDIR || is_real()) return fd;
  const auto followed = follow_links(name, true);
  if (!followed) return -ELOOP;
  return *followed == name ? fd : root_.open_path(*followed, flags);
}

Result<Descriptor> Files::open_at(std::string_view path, int flags) const {
  if (acts_when_read(path) && (flags & O_PATH) == 0) {
    return Error{Errc::unsupported,
                 fmt::format("reading {}: refused, because reading it acts", absolute(path)), ""};
  }
  const int fd = open_quietly(path, flags);
  if (fd < 0) return fail({-fd, ""}, "reading", path);
  return Descriptor(fd);
}

tl::expected<std::string, Files::Refusal> Files::read_whole(int fd, std::size_t limit) {
  std::string text;
  std::array<char, 16384> chunk;
  for (;;) {
    const ssize_t count = ::read(fd, chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return tl::unexpected(Refusal{errno, ""});
    if (count == 0) return text;
    text.append(chunk.data(), static_cast<std::size_t>(count));
    if (text.size() > limit) {
      return tl::unexpected(Refusal{0, fmt::format("longer than {} bytes", limit)});
    }
  }
}

// Archives and checkouts that cannot hold links keep each as a small file with the link's text, as
// git with core.symlinks=false does.
std::optional<std::string> Files::link_text(const std::string& name) const {
  const Descriptor link(root_.open_path(name, O_PATH | O_NOFOLLOW));
  if (link.get() < 0) return std::nullopt;
  std::array<char, link_text_max> target;
  const ssize_t length = ::readlinkat(link.get(), "", target.data(), target.size());
  if (length >= 0) return std::string(target.data(), static_cast<std::size_t>(length));
  struct stat status {};
  const bool may_be_text = !is_real() && ::fstat(link.get(), &status) == 0 &&
                           S_ISREG(status.st_mode) && status.st_size > 1 &&
                           status.st_size < static_cast<off_t>(link_text_max);
  if (!may_be_text) return std::nullopt;
  const Descriptor file(root_.open_path(name, O_RDONLY));
  if (file.get() < 0) return std::nullopt;
  auto text = read_whole(file.get(), link_text_max);
  const bool is_link = text && (text->starts_with("../") || text->starts_with('/')) &&
                       text->find_first_of("\n ") == std::string::npos;
  return is_link ? std::optional(*std::move(text)) : std::nullopt;
}

Result<std::string> Files::follow_links(std::string path, bool whole) const {
  constexpr int links_max = 40;  // As the kernel's own limit.
  for (int links = 0; links < links_max; ++links) {
    bool changed = false;
    std::size_t end = path.find('/');
    while (!changed && (whole || end != std::string::npos)) {
      const std::string head = path.substr(0, end);
      if (const auto target = link_text(head)) {
        const std::size_t slash = head.rfind('/');
        const bool from_root = target->starts_with('/') || slash == std::string::npos;
        const std::string rest = end == std::string::npos ? "" : path.substr(end);
        if (recording_ != nullptr) recording_->links.emplace(head, *target);
        path = without_dots((from_root ? "" : head.substr(0, slash + 1)) + *target + rest);
        changed = true;
      }
      if (end == std::string::npos) break;
      end = path.find('/', end + 1);
    }
    if (!changed) return path;
  }
  return os_error(ELOOP, "reading " + absolute(path));
}

Result<std::string> Files::read(std::string_view path, std::size_t limit) const {
  if (manifest_.complete) {
    if (auto known = recorded_refusal(path)) return fail(*std::move(known), "reading", path);
  }
  HEADROOM_TRY(const Descriptor file, open_at(path, O_RDONLY));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return fail({errno, ""}, "reading", path);
  if (!S_ISREG(status.st_mode)) {
    note_presence(path, file.get());
    return Error{Errc::invalid, fmt::format("reading {}: not a regular file", absolute(path)), ""};
  }
  auto text = read_whole(file.get(), limit);
  if (!text) {
    note_presence(path, file.get());
    return fail(text.error(), "reading", path);
  }
  note_file(path, *text);
  return *std::move(text);
}

Result<Descriptor> Files::open_file(std::string_view path) const {
  HEADROOM_TRY(Descriptor file, open_at(path, O_RDONLY));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return fail({errno, ""}, "reading", path);
  if (!S_ISREG(status.st_mode)) {
    return Error{Errc::invalid, fmt::format("reading {}: not a regular file", absolute(path)), ""};
  }
  return file;
}

Result<std::string> Files::read_tail(std::string_view path, std::size_t most) const {
  HEADROOM_TRY(const Descriptor file, open_file(path));
  HEADROOM_TRY(const FileBytes bytes, FileBytes::of(file.get()));
  const std::uint64_t size = bytes.size();
  const bool is_cut = size > most;
  // One byte more than wanted tells whether the first line is whole.
  const std::uint64_t start = is_cut ? size - most - 1 : 0;
  std::string text(static_cast<std::size_t>(size - start), '\0');
  HEADROOM_TRY(const std::size_t length, bytes.read_at(start, text));
  text.resize(length);
  if (!is_cut) return text;
  const std::size_t end = text.find('\n');
  return end == std::string::npos ? std::string() : text.substr(end + 1);
}

Result<std::string> Files::modified(std::string_view path) const {
  if (!is_real()) {
    return Error{Errc::not_this_system, absolute(path) + ": asked of a captured machine", ""};
  }
  struct stat status {};
  if (::fstatat(root_.get(), relative(path).c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    return fail({errno, ""}, "looking at", path);
  }
  return local_time(status.st_mtim.tv_sec);
}

Result<Descriptor> Files::open_folder(std::string_view path) const {
  if (manifest_.complete) {
    if (auto known = recorded_refusal(path)) return fail(*std::move(known), "reading", path);
  }
  HEADROOM_TRY(Descriptor folder, open_at(path, O_RDONLY | O_DIRECTORY));
  note_presence(path, folder.get());
  return folder;
}

Result<std::vector<std::string>> Files::list(std::string_view path) const {
  HEADROOM_TRY(Descriptor folder, open_folder(path));
  std::vector<std::string> names;
  std::vector<std::string> folders;
  const int failure = each_entry(std::move(folder), [&](int, const dirent& entry) {
    names.emplace_back(entry.d_name);
    if (recording_ != nullptr && entry.d_type == DT_DIR) folders.emplace_back(entry.d_name);
  });
  if (failure != 0) return fail({failure, ""}, "listing", path);
  std::sort(names.begin(), names.end());
  note_entries(path, names, folders);
  return names;
}

Result<std::vector<Link>> Files::list_links(std::string_view path) const {
  HEADROOM_TRY(Descriptor folder, open_folder(path));
  std::vector<Link> links;
  std::array<char, link_text_max> target;
  const int failure = each_entry(std::move(folder), [&](int fd, const dirent& entry) {
    const ssize_t length = ::readlinkat(fd, entry.d_name, target.data(), target.size());
    if (length >= 0) {
      links.push_back({entry.d_name, {target.data(), static_cast<std::size_t>(length)}});
    } else if (!is_real()) {
      if (auto text = link_text(relative(path) + "/" + entry.d_name)) {
        links.push_back({entry.d_name, *std::move(text)});
      }
    }
  });
  if (failure != 0) return fail({failure, ""}, "listing", path);
  note_links(path, links);
  return links;
}

Result<std::string> Files::read_link(std::string_view path) const {
  if (is_real()) {
    std::array<char, link_text_max> target;
    const ssize_t length =
        ::readlinkat(root_.get(), relative(path).c_str(), target.data(), target.size());
    if (length < 0 && errno == EINVAL) return no_link(path);
    if (length < 0) return fail({errno, ""}, "reading the link", path);
    note_link(path);
    return std::string(target.data(), static_cast<std::size_t>(length));
  }
  HEADROOM_TRY(const std::string name, follow_links(relative(path), false));
  if (auto target = link_text(name)) {
    note_link(path);
    return *std::move(target);
  }
  const int there = root_.open_path(name, O_PATH | O_NOFOLLOW);
  if (there < 0) return fail({-there, ""}, "reading the link", path);
  ::close(there);
  return no_link(path);
}

Result<std::string> Files::resolve(std::string_view path) const {
  HEADROOM_TRY(const std::string name, follow_links(relative(path), true));
  const int fd = open_quietly(name, O_PATH);
  if (fd < 0) return fail({-fd, ""}, "resolving", path);
  const Descriptor there(fd);
  note_presence(path, there.get());
  return absolute(name);
}

bool Files::exists(std::string_view path) const {
  const Descriptor there(open_quietly(path, O_PATH));
  if (there.get() < 0) return false;
  note_presence(path, there.get());
  return true;
}

Result<bool> Files::may_use(std::string_view path) const {
  const std::string question = "may_use" + absolute(path);
  const auto answer = ask(question, [&]() -> Result<std::string> {
    const std::string name = relative(path);
    if (::faccessat(root_.get(), name.c_str(), R_OK | W_OK, AT_EACCESS) == 0) return "yes\n";
    if (errno == EACCES || errno == EPERM) return "no\n";
    return os_error(errno, "asking for access to " + absolute(path));
  });
  if (answer) return trim(*answer) == "yes";
  if (is_real() || manifest_.unanswered.contains(question)) return answer.error();
  return Error{Errc::not_this_system, absolute(path) + ": asked of a captured machine", ""};
}

}  // namespace headroom::machine

// SPDX-License-Identifier: Apache-2.0
#include "support/scratch_root.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

#include "machine/writable_files.h"

namespace headroom::testing {
namespace {

namespace fs = std::filesystem;

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

std::map<std::string, std::string> extended_of(const fs::path& path) {
  std::map<std::string, std::string> found;
  std::string names(65536, '\0');
  const ssize_t length = ::llistxattr(path.c_str(), names.data(), names.size());
  for (std::size_t start = 0; length > 0 && start < static_cast<std::size_t>(length);) {
    const std::string name = names.c_str() + start;
    std::string value(65536, '\0');
    const ssize_t size = ::lgetxattr(path.c_str(), name.c_str(), value.data(), value.size());
    if (size >= 0) found[name] = value.substr(0, static_cast<std::size_t>(size));
    start += name.size() + 1;
  }
  return found;
}

SeenEntry look(const fs::path& path) {
  SeenEntry seen;
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0)
    throw std::runtime_error("cannot look at " + path.string());
  FileEntry& entry = seen.entry;
  entry.kind = S_ISREG(status.st_mode)   ? EntryKind::file
               : S_ISLNK(status.st_mode) ? EntryKind::link
               : S_ISDIR(status.st_mode) ? EntryKind::folder
                                         : EntryKind::other;
  entry.attributes = {status.st_mode & 07777U, status.st_uid, status.st_gid, extended_of(path)};
  if (entry.kind == EntryKind::file) {
    seen.bytes = bytes_of(path);
    entry.size = seen.bytes.size();
  }
  if (entry.kind == EntryKind::link) entry.target = fs::read_symlink(path);
  return seen;
}

bool is_at_or_under(std::string_view path, std::string_view folder) {
  return path == folder || (path.starts_with(folder) && path[folder.size()] == '/');
}

std::string_view name_of(EntryKind kind) {
  switch (kind) {
    case EntryKind::file:
      return "a file";
    case EntryKind::link:
      return "a link";
    case EntryKind::folder:
      return "a folder";
    case EntryKind::other:
      break;
  }
  return "something else";
}

std::string describe(const SeenEntry& seen) {
  if (seen.entry.kind == EntryKind::link) return "a link to " + seen.entry.target;
  if (seen.entry.kind == EntryKind::file) return fmt::format("a file with \"{}\"", seen.bytes);
  return std::string(name_of(seen.entry.kind));
}

std::string describe_extended(const std::map<std::string, std::string>& extended) {
  std::string text;
  for (const auto& [name, value] : extended) text += fmt::format(" {}=\"{}\"", name, value);
  return text.empty() ? " none" : text;
}

std::string difference_of(const std::string& path, const SeenEntry& before,
                          const SeenEntry& after) {
  const FileAttributes& old = before.entry.attributes;
  const FileAttributes& now = after.entry.attributes;
  if (describe(before) != describe(after)) {
    return fmt::format("{}: {}, then {}\n", path, describe(before), describe(after));
  }
  std::string text;
  if (old.mode != now.mode)
    text += fmt::format("{}: mode {:o}, then {:o}\n", path, old.mode, now.mode);
  if (old.uid != now.uid || old.gid != now.gid) {
    text += fmt::format("{}: owner {}:{}, then {}:{}\n", path, old.uid, old.gid, now.uid, now.gid);
  }
  if (old.extended != now.extended) {
    text += fmt::format("{}: extended attributes{}, then{}\n", path,
                        describe_extended(old.extended), describe_extended(now.extended));
  }
  return text;
}

}  // namespace

void mark_as_scratch_root(const fs::path& folder) {
  std::ofstream marker(folder / machine::WritableFiles::scratch_marker);
  marker << "Tests may change everything below this folder.\n";
  if (!marker.flush()) throw std::runtime_error("cannot mark " + folder.string());
}

Snapshot take_snapshot(const fs::path& folder, const std::string& except) {
  Snapshot seen;
  for (auto at = fs::recursive_directory_iterator(folder); at != fs::end(at); ++at) {
    const std::string path = "/" + at->path().lexically_relative(folder).string();
    if (!except.empty() && is_at_or_under(path, except)) {
      at.disable_recursion_pending();
      continue;
    }
    seen.emplace(path, look(at->path()));
  }
  // A folder that is there only for what is left out.
  for (std::string above = except; !above.empty();) {
    above = above.substr(0, above.rfind('/'));
    const auto next = seen.lower_bound(above + "/");
    const bool holds_more = next != seen.end() && is_at_or_under(next->first, above);
    if (above.empty() || holds_more) break;
    seen.erase(above);
  }
  return seen;
}

std::string difference(const Snapshot& before, const Snapshot& after) {
  std::string text;
  for (const auto& [path, seen] : before) {
    const auto now = after.find(path);
    text += now == after.end() ? fmt::format("{}: {}, then gone\n", path, describe(seen))
                               : difference_of(path, seen, now->second);
  }
  for (const auto& [path, seen] : after) {
    if (!before.contains(path)) text += fmt::format("{}: nothing, then {}\n", path, describe(seen));
  }
  return text;
}

ScratchRoot::ScratchRoot() {
  mark_as_scratch_root(folder_.path());
}

fs::path ScratchRoot::path(std::string_view path) const {
  while (path.starts_with('/')) path.remove_prefix(1);
  return path.empty() ? folder_.path() : folder_.path() / path;
}

void ScratchRoot::write(std::string_view name, std::string_view text, unsigned mode) const {
  const fs::path file = path(name);
  fs::create_directories(file.parent_path());
  std::ofstream out(file, std::ios::binary);
  out << text;
  out.close();
  if (!out || ::chmod(file.c_str(), mode) != 0) {
    throw std::runtime_error("cannot write " + file.string());
  }
}

void ScratchRoot::link(std::string_view name, const std::string& target) const {
  fs::create_directories(path(name).parent_path());
  fs::remove(path(name));
  fs::create_symlink(target, path(name));
}

void ScratchRoot::folder(std::string_view name) const {
  fs::create_directories(path(name));
}

void ScratchRoot::program(std::string_view name, std::string_view script) const {
  write(name, fmt::format("#!/bin/sh\n{}", script), 0755);
}

std::string ScratchRoot::read(std::string_view name) const {
  return bytes_of(path(name));
}

bool ScratchRoot::has(std::string_view name) const {
  return fs::exists(fs::symlink_status(path(name)));
}

Snapshot ScratchRoot::snapshot(const std::string& except) const {
  return take_snapshot(folder_.path(), except);
}

}  // namespace headroom::testing

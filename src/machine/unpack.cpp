// SPDX-License-Identifier: Apache-2.0
#include "machine/unpack.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/bytes.h"
#include "machine/descriptor.h"
#include "machine/libarchive.h"
#include "machine/os_error.h"

namespace headroom::machine {
namespace {

constexpr const char* other_way =
    "have it recorded and sent again: headroom capture OUT.tar.zst on the machine in question";

class Unpacker {
 public:
  Unpacker(const std::string& path, const Libarchive& library, const UnpackLimits& limits)
      : path_(path), library_(library), limits_(limits), archive_(library.read_new()) {}
  ~Unpacker() {
    if (archive_ != nullptr) library_.read_free(archive_);
  }
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;

  Status unpack(int fd, TreeWriter& out) {
    if (archive_ == nullptr) return Error{Errc::out_of_memory, "reading " + path_, ""};
    for (const auto support :
         {library_.read_support_filter_gzip, library_.read_support_filter_xz,
          library_.read_support_filter_zstd, library_.read_support_format_tar}) {
      if (support(archive_) < Libarchive::warn) return unreadable();
    }
    constexpr std::size_t block_bytes = 65536;
    if (library_.read_open_fd(archive_, fd, block_bytes) < Libarchive::warn) return unreadable();
    for (std::uint64_t entries = 0;; ++entries) {
      archive_entry* entry = nullptr;
      const int result = library_.read_next_header(archive_, &entry);
      if (result == Libarchive::end) return Done{};
      if (result < Libarchive::warn) return unreadable();
      if (entries == limits_.entries) {
        return refused(fmt::format("more than {} entries", limits_.entries));
      }
      HEADROOM_CHECK(write(entry, out));
    }
  }

 private:
  Error refused(const std::string& why) const {
    return {Errc::invalid, fmt::format("unpacking {}: refused, {}", path_, why), other_way};
  }
  Error unreadable() const {
    const char* why = library_.error_string(archive_);
    return {Errc::invalid,
            fmt::format("unpacking {}: {}", path_, why == nullptr ? "unreadable" : why), other_way};
  }

  Status write(archive_entry* entry, TreeWriter& out) {
    const char* name = library_.entry_pathname(entry);
    if (name == nullptr) return refused("an entry without a name");
    const std::string path(name);
    if (library_.entry_hardlink(entry) != nullptr) return refused(path + " is a hard link");
    const mode_t type = library_.entry_filetype(entry);
    if (type == S_IFDIR) {
      if (path == "." || path == "./") return Done{};
      return add_path(out.folder(path));
    }
    if (type == S_IFLNK) {
      const char* target = library_.entry_symlink(entry);
      if (target == nullptr) return refused(path + " is a link without a target");
      return add_path(out.link(path, target));
    }
    if (type != S_IFREG) return refused(path + " is neither file, folder nor link");
    HEADROOM_TRY(const std::string bytes, read_bytes(entry));
    return add_path(out.file(path, bytes));
  }

  Status add_path(Status status) const {
    if (status) return status;
    Error error = std::move(status).error().in("unpacking " + path_);
    error.next = other_way;
    return error;
  }

  // A size may lie, and a sparse file is longer than what is stored of it: what counts is what
  // comes.
  Result<std::string> read_bytes(archive_entry* entry) {
    std::string bytes;
    const std::uint64_t left = limits_.total_bytes - total_bytes_;
    const std::int64_t claimed = library_.entry_size(entry);
    bool too_much = claimed < 0 || static_cast<std::uint64_t>(claimed) > left;
    std::array<char, 65536> chunk;
    while (!too_much) {
      const ssize_t count = library_.read_data(archive_, chunk.data(), chunk.size());
      if (count < 0) return unreadable();
      if (count == 0) break;
      bytes.append(chunk.data(), static_cast<std::size_t>(count));
      too_much = bytes.size() > left;
    }
    if (too_much) {
      return refused(fmt::format("more than {} in it", to_string(Bytes{limits_.total_bytes})));
    }
    total_bytes_ += bytes.size();
    return bytes;
  }

  std::string path_;
  Libarchive library_;
  UnpackLimits limits_;
  archive* archive_;
  std::uint64_t total_bytes_ = 0;
};

Descriptor open_file(const std::string& path) {
  return Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
}

}  // namespace

bool looks_like_archive(const std::string& path) {
  constexpr std::size_t magic_at = 257;  // Of a tar's first header (POSIX ustar).
  std::array<char, magic_at + 5> head{};
  const Descriptor file = open_file(path);
  struct stat status {};
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  const ssize_t count = ::read(file.get(), head.data(), head.size());
  if (count <= 0) return false;
  const std::string_view text(head.data(), static_cast<std::size_t>(count));
  return text.starts_with("\x28\xb5\x2f\xfd") || text.starts_with("\x1f\x8b") ||
         text.starts_with("\xfd\x37zXZ") || text.substr(std::min(magic_at, text.size())) == "ustar";
}

Status unpack(const std::string& path, TreeWriter& out, const UnpackLimits& limits) {
  HEADROOM_TRY(const Libarchive library, Libarchive::load());
  const Descriptor file = open_file(path);
  if (file.get() < 0) return os_error(errno, "reading " + path);
  return Unpacker(path, library, limits).unpack(file.get(), out);
}

}  // namespace headroom::machine

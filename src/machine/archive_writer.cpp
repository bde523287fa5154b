// SPDX-License-Identifier: Apache-2.0
// A tree into a .tar.zst file.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <set>

#include "machine/descriptor.h"
#include "machine/libarchive.h"
#include "machine/os_error.h"
#include "machine/provisional.h"
#include "machine/tree_writer.h"

namespace headroom::machine {
namespace {

class ArchiveWriter : public TreeWriter {
 public:
  ArchiveWriter(std::string path, Provisional draft, Descriptor file, const Libarchive& library)
      : path_(std::move(path)),
        draft_(std::move(draft)),
        file_(std::move(file)),
        library_(library) {}

  ~ArchiveWriter() override {
    if (archive_ != nullptr) library_.write_free(archive_);
  }

  Status open() {
    archive_ = library_.write_new();
    if (archive_ == nullptr) return Error{Errc::out_of_memory, "opening " + path_, ""};
    HEADROOM_CHECK(good(library_.write_set_format_pax_restricted(archive_)));
    HEADROOM_CHECK(good(library_.write_add_filter_zstd(archive_)));
    // Names are bytes; the locale has no say in them.
    HEADROOM_CHECK(good(library_.write_set_options(archive_, "hdrcharset=BINARY")));
    return good(library_.write_open_fd(archive_, file_.get()));
  }

  Status folder(const std::string& path) override {
    HEADROOM_TRY(const std::string name, clean_path(path));
    if (!folders_.insert(name).second) return Done{};
    return write({name, S_IFDIR, 0755, nullptr, {}});
  }
  Status file(const std::string& path, std::string_view bytes) override {
    HEADROOM_TRY(const std::string name, clean_path(path));
    return write({name, S_IFREG, 0644, nullptr, bytes});
  }
  Status link(const std::string& path, const std::string& target) override {
    HEADROOM_TRY(const std::string name, clean_path(path));
    return write({name, S_IFLNK, 0777, &target, {}});
  }

  Status finish() override {
    HEADROOM_CHECK(good(library_.write_close(archive_)));
    if (::fsync(file_.get()) != 0) return os_error(errno, "writing " + path_);
    const int failure = draft_.keep_as(draft_.parent(), place_of(path_).name);
    if (failure != 0) return os_error(failure, "writing " + path_);
    return Done{};
  }

 private:
  struct Member {
    std::string name;
    unsigned type;
    mode_t permissions;
    const std::string* target;
    std::string_view bytes;
  };

  Status good(int result) const {
    if (result >= Libarchive::warn) return Done{};
    const char* why = library_.error_string(archive_);
    const int number = library_.error_number(archive_);
    return Error{number == ENOSPC || number == EDQUOT ? Errc::no_space : Errc::io,
                 fmt::format("writing {}: {}", path_, why == nullptr ? "failed" : why), ""};
  }

  Status write(const Member& member) {
    archive_entry* entry = library_.entry_new();
    if (entry == nullptr) return Error{Errc::out_of_memory, "writing " + path_, ""};
    library_.entry_set_pathname(entry, member.name.c_str());
    library_.entry_set_filetype(entry, member.type);
    library_.entry_set_perm(entry, member.permissions);
    library_.entry_set_size(entry, static_cast<std::int64_t>(member.bytes.size()));
    if (member.target != nullptr) library_.entry_set_symlink(entry, member.target->c_str());
    const int written = library_.write_header(archive_, entry);
    library_.entry_free(entry);
    HEADROOM_CHECK(good(written));
    if (member.bytes.empty()) return Done{};
    const ssize_t count = library_.write_data(archive_, member.bytes.data(), member.bytes.size());
    return good(count == static_cast<ssize_t>(member.bytes.size()) ? Libarchive::ok
                                                                   : Libarchive::warn - 1);
  }

  std::string path_;
  Provisional draft_;
  Descriptor file_;
  Libarchive library_;
  archive* archive_ = nullptr;
  std::set<std::string> folders_;
};

}  // namespace

Result<std::unique_ptr<TreeWriter>> make_archive_writer(const std::string& path) {
  HEADROOM_TRY(const Libarchive library, Libarchive::load());
  struct stat there {};
  if (::lstat(path.c_str(), &there) == 0) return os_error(EEXIST, "writing " + path);
  HEADROOM_TRY(Provisional draft,
               Provisional::make(place_of(path).folder, provisional_beginning, "writing " + path));
  Descriptor file(::openat(draft.parent(), draft.name().c_str(),
                           O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (file.get() < 0) return os_error(errno, "writing " + path);
  auto writer = std::make_unique<ArchiveWriter>(path, std::move(draft), std::move(file), library);
  HEADROOM_CHECK(writer->open());
  return writer;
}

}  // namespace headroom::machine

// SPDX-License-Identifier: Apache-2.0
// The files of a machine that may be changed: this system, or a scratch root that a test marked.
// Any other root is refused. Two kinds of write, never mixed: `replace` for files on disk (beside
// it, fsync, rename, fsync of the folder: after a power cut the old or the new bytes are there),
// `write_in_place` for what the kernel offers under /sys and /proc. As with Files nothing outside
// the root can be reached.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_entry.h"
#include "base/result.h"
#include "machine/descriptor.h"
#include "machine/lock_holders.h"
#include "machine/root_folder.h"

namespace headroom::machine {

class WritableFiles {
 public:
  // The marker of a scratch root: a file of this name in it. Only tests/support writes one.
  static constexpr std::string_view scratch_marker = ".headroom-scratch-root";

  // Fails with not_this_system unless `root` is "/" or has the marker.
  static Result<WritableFiles> open(const std::string& root);

  bool is_real() const { return root_.is_real(); }
  const std::string& root() const { return name_; }  // As given, without a slash at its end.

  // What is there, without following a last link; nullopt: nothing. Fails if it cannot be seen.
  Result<std::optional<FileEntry>> look(std::string_view path) const;
  // Where a path leads once links are followed, as a path of that machine; the path itself where
  // nothing is there yet. Fails on loops and, as root, with no_permission where another user's link
  // leads to what is not that user's. All that read or change a file go this way.
  Result<std::string> resolve(std::string_view path) const;
  // The whole file, its last link followed; invalid if longer than `limit` or no regular file.
  Result<std::string> read(std::string_view path, std::size_t limit = std::size_t{1} << 30U) const;
  // The same piece by piece: for what is too large to hold. Ends early if `take` fails.
  Status read_pieces(std::string_view path,
                     const std::function<Status(std::string_view piece)>& take) const;
  // A regular file, open for reading, for what is too large to hold; its last link followed.
  Result<Descriptor> open_file(std::string_view path) const;
  // The names in a folder, sorted, without "." and "..".
  Result<std::vector<std::string>> list(std::string_view path) const;
  // What a path with "*" in its last part matches, sorted; a path without one matches itself if it
  // is there. A folder that is not there matches nothing. Names that `replace` left behind are not
  // matched.
  Result<std::vector<std::string>> match(std::string_view pattern) const;
  // Bytes free for us on the file system that holds the path, or its nearest folder that is there.
  Result<std::uint64_t> free_bytes(std::string_view path) const;

  // The bytes and attributes, all or nothing; durable when it returns. Does not follow a last link
  // (resolve it first). The temporary name is "." + NAME + ".headroom-new" in the same folder. The
  // owner and extended attributes are set before the rename; where this user may not set them, it
  // fails with no_permission and nothing has changed.
  Status replace(std::string_view path, std::string_view bytes, const FileAttributes& attributes);
  // The same from another file of this root, in pieces: for what is too large to hold. Reads `from`
  // with its links followed.
  Status copy(std::string_view from, std::string_view to, const FileAttributes& attributes);
  // Makes or replaces a link, atomically.
  Status make_link(std::string_view path, std::string_view target);
  // Durable, as the others. Nothing there is no error.
  Status remove(std::string_view path);
  // With the mode given; there already is no error. Its parent must be there.
  Status make_folder(std::string_view path, std::uint32_t mode);
  // Only an empty one; nothing there is no error.
  Status remove_folder(std::string_view path);
  // Removes what an interrupted `replace`, `copy` or `make_link` of this path left behind.
  Status remove_leftover(std::string_view path);
  // One write(2) to a file under /sys or /proc that is there; a shorter write is an error. Follows
  // links.
  Status write_in_place(std::string_view path, std::string_view text);

  // An advisory lock on a file, which is made if it is not there; held until the Descriptor
  // goes, and by programs that were started meanwhile until they end. Fails with busy if another
  // process holds it, and names it.
  Result<Descriptor> lock(std::string_view path);
  // Who holds it, as far as this user may know; nobody where the file is not there.
  std::vector<LockHolder> lock_holders(std::string_view path) const;

  // Called before every single operation that changes anything (each of write, rename, fsync of
  // `replace` by itself) with what it is about to do and the path that it does it to; an error it
  // returns is the operation's. For tests that break every step. Operations: create, write, owner,
  // attribute, mode, sync, rename, sync-folder, link, remove, make-folder, remove-folder,
  // write-in-place.
  using Hook = std::function<Status(std::string_view operation, std::string_view path)>;
  void before_each(Hook hook) { hook_ = std::move(hook); }

 private:
  // Where something is to change: the folder, open for fsync, and the last name, in it.
  struct Place {
    Descriptor folder;
    std::string name;
    std::string folder_path;  // Without links on it.
    std::string path;         // Of both.

    std::string temporary() const { return "." + name + ".headroom-new"; }
    std::string temporary_path() const;
  };
  using Fill = std::function<Status(int fd, const std::string& path)>;

  explicit WritableFiles(RootFolder root) : root_(std::move(root)) {}

  Result<Place> place_of(std::string_view path) const;
  // As above; nullopt where the folder is not there.
  Result<std::optional<Place>> place_if_there(std::string_view path) const;
  // Root changes files of users' home folders too. There a user's link may lead to what is that
  // user's, or else it would be a way to have root change what is not.
  Status check_trust(std::string_view path, const std::vector<uid_t>& link_owners,
                     const std::string& end) const;
  // What is at the path, or its nearest folder that is there.
  Result<Descriptor> open_nearest(std::string path) const;
  // A regular file, links followed; never one of those that act when they are read.
  Result<Descriptor> open_file(std::string_view path, int flags) const;

  Status before(std::string_view operation, std::string_view path) const;
  Status write_all(int fd, std::string_view bytes, const std::string& path) const;
  Status copy_all(int from, int to, const std::string& path) const;
  // Everything of `replace` but what is in the file.
  Status replace_with(const Fill& fill, std::string_view path, const FileAttributes& attributes);
  Status make_temporary(const Fill& fill, const Place& place, const FileAttributes& attributes);
  Status make_temporary_link(const Place& place, const std::string& target);
  // The temporary takes the name's place if `made` went well, and goes otherwise.
  Status finish(const Place& place, Status made);
  Status remove_temporary(const Place& place) const;
  // What a folder just made lacks still: its permissions, and to be on disk.
  Status finish_folder(const Place& place, std::uint32_t mode) const;
  Status sync_folder(const Place& place) const;

  RootFolder root_;
  std::string name_;
  Hook hook_;
};

}  // namespace headroom::machine

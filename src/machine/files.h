// SPDX-License-Identifier: Apache-2.0
// The files of one machine: this one (root "/") or a captured one (any folder that mirrors /sys,
// /proc, /etc and /dev). Paths are written as on that machine, "/sys/class/drm"; nothing outside
// the root can be reached, whatever links the folder holds (openat2 with RESOLVE_IN_ROOT). Reads
// only, and refuses the files that act when they are read (acts_when_read.h). Where its owner asks
// for it, keeps a record of every answer (recording.h).
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "machine/descriptor.h"
#include "machine/recording.h"
#include "machine/root_folder.h"

namespace headroom::machine {

struct Link {
  std::string name;
  std::string target;
};

class Files {
 public:
  // Fails with not_found if `root` is no folder, and with unsupported where the kernel lacks
  // openat2 (before Linux 5.6) and the root is not "/". Every answer is added to `recording` where
  // one is given; it must outlive this, and then only one thread at a time may ask.
  static Result<Files> open(const std::string& root, Recording* recording = nullptr);

  // True for "/": what is read is true of this system now. Changing and running refuse any other
  // root.
  bool is_real() const { return root_.is_real(); }
  // True for what a Recording was written to: redacted already, and what it lacks was not there.
  bool is_record() const { return manifest_.complete; }

  // The whole file; invalid if it is longer than `limit` or no regular file. Kernel files lie about
  // their size, so it is not asked.
  Result<std::string> read(std::string_view path, std::size_t limit = std::size_t{1} << 20U) const;
  // A regular file, open for reading, for what is too large to hold. Not added to a record.
  Result<Descriptor> open_file(std::string_view path) const;
  // The end of a regular file, of a log for instance: at most its last `most` bytes, beginning with
  // a whole line where something before them is left out. Fails as open_file() does. Not added to
  // a record; derive() is for what is made of it.
  Result<std::string> read_tail(std::string_view path, std::size_t most) const;
  // When a file, a folder or a link (not what it leads to) was last modified, in this system's time
  // zone: "2026-05-01T10:00:00". Fails with not_this_system of a captured machine, because copying
  // a file may change it.
  Result<std::string> modified(std::string_view path) const;
  // The names in a folder, sorted, without "." and "..".
  Result<std::vector<std::string>> list(std::string_view path) const;
  // The symbolic links in a folder, by name, each with what it says: of /proc/PID/fd with its
  // hundreds of entries, in one pass.
  Result<std::vector<Link>> list_links(std::string_view path) const;
  // What a symbolic link says, unresolved.
  Result<std::string> read_link(std::string_view path) const;
  // Where a path leads once every link is followed, as a path of that machine.
  Result<std::string> resolve(std::string_view path) const;
  bool exists(std::string_view path) const;
  // Whether the user who runs this may open the path for reading and writing; not_this_system of a
  // captured machine that does not say. Does not open it: opening a device node may wake the
  // device.
  Result<bool> may_use(std::string_view path) const;
  // What no file holds, an ioctl's answer for instance, as a text: of this system it is what `live`
  // answers; of a captured one what was answered then, kept in the file /.headroom/QUESTION
  // ("may_use/dev/kfd"), and not_found where nothing was.
  Result<std::string> ask(const std::string& question,
                          const std::function<Result<std::string>()>& live) const;
  // What is computed from files that are too large to record, an initramfs image for instance: of
  // a record what was answered then, otherwise what `compute` answers.
  Result<std::string> derive(const std::string& question,
                             const std::function<Result<std::string>()>& compute) const;

 private:
  // Why something could not be read: an errno or, where `number` is 0, a sentence.
  struct Refusal {
    int number = 0;
    std::string sentence;
  };
  explicit Files(RootFolder root) : root_(std::move(root)) {}
  // Without a word to anyone: an open descriptor, or -errno.
  int open_quietly(std::string_view path, int flags) const;
  Result<Descriptor> open_at(std::string_view path, int flags) const;
  Result<Descriptor> open_folder(std::string_view path) const;
  static tl::expected<std::string, Refusal> read_whole(int fd, std::size_t limit);
  // What the link `name` says, be it a real link or, in a capture, a small file with a link's text.
  std::optional<std::string> link_text(const std::string& name) const;
  // The path with every link on its way followed; the last name too if `whole`.
  Result<std::string> follow_links(std::string path, bool whole) const;

  // What the manifest of a captured machine says of a read that cannot be done here.
  std::optional<Refusal> recorded_refusal(std::string_view path) const;
  void add_real_names();
  Error fail(Refusal refusal, std::string_view doing, std::string_view path) const;

  // To the record, if there is one, under the name that is left once real links are followed.
  std::optional<std::string> real_name(std::string_view path) const;
  void note_answer(const std::string& question, const Result<std::string>& answer) const;
  void note_file(std::string_view path, const std::string& text) const;
  void note_entries(std::string_view path, const std::vector<std::string>& names,
                    const std::vector<std::string>& folders) const;
  void note_presence(std::string_view path, int fd) const;
  void note_link(std::string_view path) const;
  void note_links(std::string_view folder, const std::vector<Link>& links) const;
  void note_refusal(std::string_view path, const Refusal& refusal) const;

  RootFolder root_;
  Manifest manifest_;
  Recording* recording_ = nullptr;
};

}  // namespace headroom::machine

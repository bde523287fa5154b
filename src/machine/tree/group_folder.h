// SPDX-License-Identifier: Apache-2.0
// One control group as the folder that it is: made, asked, told, and taken away again. Groups of
// ours are named for the process that made them, "headroom-run-1234-…", so that what a killed one
// left behind can be told from what is in use.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace headroom::machine {

// One thread. The folder is removed with it, and those below: if processes are left in it, it
// stays.
class GroupFolder {
 public:
  // Makes `name` in the group `parent`. Fails as mkdir(2) does, with no_permission for most users.
  static Result<GroupFolder> make(const std::string& parent, const std::string& name);
  // One that somebody else makes and removes.
  static GroupFolder borrow(std::string path) { return GroupFolder(std::move(path), false); }
  GroupFolder(GroupFolder&& other) noexcept;
  GroupFolder& operator=(GroupFolder&&) = delete;
  ~GroupFolder();

  const std::string& path() const { return path_; }
  std::optional<std::string> read(std::string_view file) const;
  std::optional<Bytes> read_bytes(std::string_view file) const;
  // The number behind `key` in a file of lines "key number".
  std::optional<std::uint64_t> read_key(std::string_view file, std::string_view key) const;
  Status write(std::string_view file, std::string_view text) const;
  Status add(pid_t process) const;
  // Those of the groups below it included.
  std::vector<pid_t> processes() const;

 private:
  GroupFolder(std::string path, bool is_ours) : path_(std::move(path)), is_ours_(is_ours) {}
  std::string path_;
  bool is_ours_;
};

// A name that no other group of this system has, now or later.
std::string make_group_name();
// Takes the groups of headrooms that have ended out of `parent`, unless something lives in them.
void sweep_groups(const std::string& parent);

// Writes to a file of any group.
Status write_group_file(const std::string& path, std::string_view text);
std::optional<std::string> read_group_file(const std::string& path);
std::vector<pid_t> read_group_processes(const std::string& folder);

}  // namespace headroom::machine

// SPDX-License-Identifier: Apache-2.0
// What one name in a folder is, as a value: kind, permissions, owner, labels.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace headroom {

// What belongs to a file beside its bytes.
struct FileAttributes {
  std::uint32_t mode = 0644;  // Permission bits, with set-uid and the like.
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  // Extended attributes: SELinux label, ACL, capabilities. Values are bytes.
  std::map<std::string, std::string> extended;

  bool operator==(const FileAttributes&) const = default;
};

enum class EntryKind { file, link, folder, other };

struct FileEntry {
  EntryKind kind = EntryKind::file;
  FileAttributes attributes;
  std::uint64_t size = 0;
  std::uint64_t names = 1;      // How many names this one file has: more than one by hard links.
  std::string target;           // What a link says.
  std::int64_t modified_s = 0;  // Since 1970, of its bytes; 0 where it was not asked for.
};

}  // namespace headroom

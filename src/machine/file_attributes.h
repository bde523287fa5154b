// SPDX-License-Identifier: Apache-2.0
// Owner, permissions, SELinux label, ACL and the other extended attributes of an open file: read as
// a value, and set from one. What the kernel derives from the bytes (security.ima, security.evm) is
// left to it: on another file it would be wrong.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/file_entry.h"
#include "base/result.h"

namespace headroom::machine {

// Of any descriptor, one opened with O_PATH as well; of a link, the link's own. A file system that
// knows no extended attributes has none. `path` is for messages.
Result<std::map<std::string, std::string>> read_extended(int fd, const std::string& path);

// Makes the file as `wanted` says, calling before("owner"), before("attribute") and before("mode")
// ahead of whatever has to change; what is right already is not touched. `fd` is open for writing.
// A security.* attribute that is not wanted stays (a new file keeps the label that the kernel gave
// it); an ACL that was inherited and is not wanted goes. Where the file system keeps no owners and
// permissions of its own (FAT), those that it gives are right.
Status set_attributes(int fd, const FileAttributes& wanted, const std::string& path,
                      const std::function<Status(std::string_view)>& before);

// Whether owner and permissions belong to the file. FAT and its like show those that they were
// mounted with, and refuse others.
bool keeps_permissions(int fd);

}  // namespace headroom::machine

// SPDX-License-Identifier: Apache-2.0
// Ordinary files that the user names: a job, a configuration, a report. Paths are as typed,
// relative to the current folder.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_entry.h"
#include "base/random_access.h"
#include "base/result.h"

namespace headroom::machine {

// The whole file; invalid if it is longer than `limit` or is not a file.
Result<std::string> read_file(const std::string& path, std::size_t limit = std::size_t{64} << 20U);

// A file of any length, open for reading at any place; invalid if it is not a file.
Result<std::unique_ptr<RandomAccess>> open_file(const std::string& path);

// Whether both are there, and are one file under whatever names. Links are followed.
bool is_same_file(const std::string& one, const std::string& other);

// What is there, links followed.
Result<EntryKind> kind_of(const std::string& path);

// The names in a folder, sorted, without "." and "..".
Result<std::vector<std::string>> list_folder(const std::string& path);

// Replaces the file or leaves it as it was: writes beside it, fsyncs, renames, fsyncs the folder.
// On any failure, a full disk included (no_space), nothing of it remains and the old file is
// untouched. It keeps its permissions if it is this user's. Links are followed where nobody else
// can have put them (named_place.h). What is a device or a pipe is written to instead, and a pipe
// without a reader fails; /dev/stdout is this process's own.
Status write_file_atomic(const std::string& path, std::string_view text);

}  // namespace headroom::machine

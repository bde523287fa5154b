// SPDX-License-Identifier: Apache-2.0
// Writes a tree of folders, files and links that somebody else describes: into a new folder, or
// into a new archive. Nothing that it is told can make it write anywhere else, and what is not
// finished is taken away again, whatever the writer dies of (provisional.h).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "machine/temporary_folder.h"

namespace headroom::machine {

class TreeWriter {
 public:
  TreeWriter() = default;
  TreeWriter(const TreeWriter&) = delete;
  TreeWriter& operator=(const TreeWriter&) = delete;
  // Without finish() everything that was written is removed.
  virtual ~TreeWriter() = default;

  // Paths are relative ("sys/class"); folders on the way are made. A path with "..", and one that
  // leads through a link that was written before, is invalid; so is a file or link twice.
  virtual Status folder(const std::string& path) = 0;
  virtual Status file(const std::string& path, std::string_view bytes) = 0;
  // The target is only written down, never followed.
  virtual Status link(const std::string& path, const std::string& target) = 0;
  // Nothing is missing: gives it its name, which nothing must have taken meanwhile. To be called
  // once, last.
  virtual Status finish() = 0;
};

// A file, or a folder with something in it: neither may be written to.
bool is_occupied(const std::string& path);

// The folder must be empty, or not be there; its parent must. Readable to all, as a capture is.
Result<std::unique_ptr<TreeWriter>> make_folder_writer(const std::string& path);

// Writes at once where it belongs: whoever has the folder removes what was not finished.
Result<std::unique_ptr<TreeWriter>> make_writer_into(const TemporaryFolder& folder);

// A tar compressed with zstd. The file must not be there. The same tree gives the same bytes: no
// times, no owners. Fails with unsupported where libarchive is not installed.
Result<std::unique_ptr<TreeWriter>> make_archive_writer(const std::string& path);

// A relative path without what means nothing: "./a//b" is "a/b". Invalid if it leads upwards or
// starts at the root, names nothing, or is longer than Linux takes.
Result<std::string> clean_path(std::string_view path);

}  // namespace headroom::machine

// SPDX-License-Identifier: Apache-2.0
#include "machine/open_root.h"

#include <filesystem>

#include "machine/tree_writer.h"
#include "machine/unpack.h"

namespace headroom::machine {
namespace {

namespace fs = std::filesystem;

// The folder that mirrors the machine: `folder`, or the only one in it.
std::string find_top(const std::string& folder) {
  std::error_code ignored;
  std::string top;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (!top.empty() || !entry.is_directory(ignored) || entry.is_symlink(ignored)) return folder;
    top = entry.path().string();
  }
  const fs::path name = fs::path(top).filename();
  return top.empty() || name == "proc" || name == "sys" ? folder : top;
}

}  // namespace

Result<OpenRoot> open_root(const std::string& root, Recording* recording) {
  std::error_code ignored;
  if (!fs::is_regular_file(root, ignored)) {
    HEADROOM_TRY(Files files, Files::open(root, recording));
    return OpenRoot{std::nullopt, std::move(files)};
  }
  if (!looks_like_archive(root)) {
    return Error{Errc::invalid,
                 "expected a folder or an archive (.tar.zst) that mirrors a machine, found a file "
                 "that is neither",
                 "headroom capture OUT.tar.zst on the machine in question records one"};
  }
  HEADROOM_TRY(TemporaryFolder folder, TemporaryFolder::make());
  {
    HEADROOM_TRY(const auto writer, make_writer_into(folder));
    HEADROOM_CHECK(unpack(root, *writer));
    HEADROOM_CHECK(writer->finish());
  }
  HEADROOM_TRY(Files files, Files::open(find_top(folder.path()), recording));
  return OpenRoot{std::move(folder), std::move(files)};
}

}  // namespace headroom::machine

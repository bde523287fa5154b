// SPDX-License-Identifier: Apache-2.0
#include "machine/output_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "machine/named_place.h"
#include "machine/user_files.h"

namespace headroom::machine {
namespace {

// An inode: the same however it is called.
struct Identity {
  dev_t device = 0;
  ino_t number = 0;
  bool operator==(const Identity&) const = default;
};

Identity identity_of(const struct stat& status) {
  return {status.st_dev, status.st_ino};
}

// Only what is replaced can be lost: devices and pipes are nobody's loss.
std::optional<Identity> regular_file(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return identity_of(status);
}

std::optional<Identity> identity_of(const Descriptor& folder) {
  struct stat status {};
  if (::fstat(folder.get(), &status) != 0) return std::nullopt;
  return identity_of(status);
}

// Whether the place lies in the folder or in one below it.
bool is_below(const NamedPlace& place, const std::string& folder) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) return false;
  const Identity wanted = identity_of(status);
  Descriptor here(::fcntl(place.folder.get(), F_DUPFD_CLOEXEC, 3));
  std::optional<Identity> before;
  for (auto now = identity_of(here); now && now != before; now = identity_of(here)) {
    if (*now == wanted) return true;
    before = now;
    here = Descriptor(::openat(here.get(), "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  return false;
}

bool ends_with_one(const std::string& name, const std::vector<std::string>& endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [&name](const std::string& ending) { return name.ends_with(ending); });
}

bool is_same(const OutputFile& one, const OutputFile& other) {
  const auto file = regular_file(one.path);
  if (file && file == regular_file(other.path)) return true;
  const auto place = find_named_place(one.path);
  const auto other_place = find_named_place(other.path);
  if (!place || !other_place || place->name != other_place->name) return false;
  const bool is_file = file || !kind_of(one.path);  // Or nothing yet.
  return is_file && identity_of(place->folder) == identity_of(other_place->folder);
}

Error own_file_expected(const OutputFile& output, const std::string& found) {
  return {Errc::invalid,
          fmt::format("{}: expected a file of its own, found {}, {}", output.option, output.path,
                      found),
          output.next.empty() ? output.option + " FILE, under another name" : output.next};
}

// Every file that is read, however it is called; looked for once, as folders may hold many.
std::vector<Identity> identities_of(const InputFiles& inputs) {
  std::vector<Identity> found;
  const auto add = [&found](const std::string& path) {
    if (const auto file = regular_file(path)) found.push_back(*file);
  };
  for (const std::string& path : inputs.files) add(path);
  for (const InputFiles::Folder& folder : inputs.folders) {
    for (const std::string& path : list_files(folder)) add(path);
  }
  return found;
}

bool is_listed(const OutputFile& output, const std::vector<std::string>& files) {
  const bool is_missing = !kind_of(output.path);
  return is_missing && std::find(files.begin(), files.end(), output.path) != files.end();
}

Status check_against_inputs(const OutputFile& output, const InputFiles& inputs,
                            const std::vector<Identity>& read) {
  const auto file = regular_file(output.path);
  if (is_listed(output, inputs.files) ||
      (file && std::find(read.begin(), read.end(), *file) != read.end())) {
    return own_file_expected(output, "which is read or written already");
  }
  const auto place = find_named_place(output.path);
  for (const InputFiles::Folder& folder : inputs.folders) {
    if (place && ends_with_one(place->name, folder.endings) && is_below(*place, folder.path)) {
      return own_file_expected(
          output, fmt::format("which would be read with the others in {}", folder.path));
    }
  }
  return Done{};
}

std::string where_to(const OutputFile& output) {
  return "name a file in a folder that you may write to: " + output.option + " FILE";
}

Status check_place(const OutputFile& output) {
  const std::string& path = output.path;
  const auto there = kind_of(path);
  if (there && *there == EntryKind::folder)
    return Error{Errc::invalid, fmt::format("writing {}: expected a file, found a folder", path),
                 where_to(output)};
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const auto kind = kind_of(folder);
  if (!kind || *kind != EntryKind::folder)
    return Error{Errc::not_found, fmt::format("writing {}: there is no folder {}", path, folder),
                 where_to(output)};
  auto place = find_named_place(path);
  if (place) return Done{};
  Error error = std::move(place).error();
  if (error.next.empty()) error.next = where_to(output);
  return error;
}

}  // namespace

void InputFiles::add(const InputFiles& others) {
  files.insert(files.end(), others.files.begin(), others.files.end());
  folders.insert(folders.end(), others.folders.begin(), others.folders.end());
}

InputFiles captured_machine(const std::string& root) {
  InputFiles inputs;
  if (root == "/") return inputs;
  const auto kind = kind_of(root);
  if (kind && *kind == EntryKind::folder) {
    inputs.folders.push_back({root, {""}});
  } else {
    inputs.files.push_back(root);
  }
  return inputs;
}

std::vector<std::string> list_files(const InputFiles::Folder& folder) {
  std::vector<std::string> found;
  const auto names = list_folder(folder.path);
  if (!names) return found;
  for (const std::string& name : *names) {
    const std::string path = folder.path + "/" + name;
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0) continue;
    if (S_ISDIR(status.st_mode)) {
      const auto below = list_files({path, folder.endings});
      found.insert(found.end(), below.begin(), below.end());
    } else if (ends_with_one(name, folder.endings)) {
      found.push_back(path);
    }
  }
  return found;
}

Status check_names(const std::vector<OutputFile>& outputs, const InputFiles& inputs) {
  const bool is_asked = std::any_of(outputs.begin(), outputs.end(),
                                    [](const OutputFile& output) { return !output.path.empty(); });
  if (!is_asked) return Done{};
  const std::vector<Identity> read = identities_of(inputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].path.empty()) continue;
    HEADROOM_CHECK(check_against_inputs(outputs[i], inputs, read));
    for (std::size_t k = 0; k < i; ++k) {
      if (!outputs[k].path.empty() && is_same(outputs[i], outputs[k]))
        return own_file_expected(outputs[i], "which is read or written already");
    }
  }
  return Done{};
}

Status check_places(const std::vector<OutputFile>& outputs) {
  for (const OutputFile& output : outputs) {
    if (!output.path.empty()) HEADROOM_CHECK(check_place(output));
  }
  return Done{};
}

Status write_output(const OutputFile& output, std::string_view text) {
  auto written = write_file_atomic(output.path, text);
  if (written) return Done{};
  Error error = std::move(written).error();
  if (error.next.empty()) error.next = where_to(output);
  return error;
}

}  // namespace headroom::machine

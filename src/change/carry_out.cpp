// SPDX-License-Identifier: Apache-2.0
#include "change/carry_out.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "change/expectations.h"
#include "change/observe.h"

namespace headroom::change {
namespace {

constexpr std::size_t output_lines_max = 12;

std::string last_lines(const std::string& text) {
  const auto lines = split_lines(trim(text));
  const std::size_t from = lines.size() > output_lines_max ? lines.size() - output_lines_max : 0;
  std::string last;
  for (std::size_t i = from; i < lines.size(); ++i) last += fmt::format("\n    {}", lines[i]);
  return last;
}

// The bytes of a regular file, or nothing where nothing is.
Result<std::optional<std::string>> bytes_at(const machine::WritableFiles& files,
                                            const std::string& path) {
  HEADROOM_TRY(const auto entry, files.look(path));
  if (!entry) return std::optional<std::string>();
  HEADROOM_TRY(auto bytes, files.read(path));
  return std::optional<std::string>(std::move(bytes));
}

Result<std::optional<std::string>> target_at(const machine::WritableFiles& files,
                                             const std::string& path) {
  HEADROOM_TRY(const auto entry, files.look(path));
  if (!entry) return std::optional<std::string>();
  if (entry->kind != EntryKind::link) {
    return Error{Errc::invalid, path + ": expected a link or nothing, found something else",
                 "headroom check"};
  }
  return std::optional<std::string>(entry->target);
}

// With its kernel; there is nothing left to edit then.
bool is_gone_entry(const plan::FileEdit& edit, const std::optional<std::string>& now) {
  return edit.before && !now && is_loader_entry(edit.path);
}

Error changed_meanwhile(const std::string& path) {
  return {Errc::invalid,
          path + ": expected the contents from when the change was planned, found it " +
              "changed since",
          "headroom fix   (makes a new plan)"};
}

Status check_program(const Doors& doors, const std::vector<std::string>& argv) {
  if (argv.empty() || doors.programs.has(argv.front())) return Done{};
  return Error{
      Errc::not_found,
      fmt::format("expected the program {}, which this change runs; found none", argv.front()),
      "headroom fix --script   (shows what it would run)"};
}

Status write(const Doors& doors, const plan::FileEdit& edit) {
  HEADROOM_TRY(const std::string path, doors.files.resolve(edit.path));
  if (!edit.after) return doors.files.remove(path);
  HEADROOM_TRY(const auto entry, doors.files.look(path));
  if (!entry && is_gone_entry(edit, std::nullopt)) return Done{};
  FileAttributes attributes;
  if (entry) {
    attributes = entry->attributes;
  } else {
    // New files belong to whom their folder belongs: root in /etc, the user at home.
    HEADROOM_TRY(const auto folder, doors.files.look(path.substr(0, path.rfind('/'))));
    attributes.mode = edit.mode.value_or(0644);
    if (folder) {
      attributes.uid = folder->attributes.uid;
      attributes.gid = folder->attributes.gid;
    }
  }
  HEADROOM_CHECK(doors.files.replace(path, *edit.after, attributes));
  HEADROOM_TRY(const std::string read_back, doors.files.read(path));
  if (read_back == *edit.after) return Done{};
  return Error{Errc::io, path + ": expected the bytes that were written, read back different ones",
               ""};
}

Status write(const Doors& doors, const plan::LinkEdit& edit) {
  if (!edit.after) return doors.files.remove(edit.path);
  return doors.files.make_link(edit.path, *edit.after);
}

}  // namespace

Status run_command(const Doors& doors, const std::vector<std::string>& argv) {
  HEADROOM_TRY(const auto output, doors.programs.run(argv));
  if (output.status == 0) return Done{};
  return Error{Errc::io,
               fmt::format("{}: expected exit status 0, found {}{}", join(argv, " "), output.status,
                           last_lines(output.text)),
               ""};
}

Status check_ready(const Doors& doors, const plan::Step& step, bool resuming) {
  if (const auto* edit = std::get_if<plan::FileEdit>(&step.action)) {
    HEADROOM_TRY(const std::string path, doors.files.resolve(edit->path));
    HEADROOM_TRY(const auto now, bytes_at(doors.files, path));
    const bool fine =
        now == edit->before || (resuming && (now == edit->after || is_gone_entry(*edit, now)));
    return fine ? Status(Done{}) : Status(changed_meanwhile(edit->path));
  }
  if (const auto* link = std::get_if<plan::LinkEdit>(&step.action)) {
    HEADROOM_TRY(const auto now, target_at(doors.files, link->path));
    const bool fine = now == link->before || (resuming && now == link->after);
    return fine ? Status(Done{}) : Status(changed_meanwhile(link->path));
  }
  if (const auto* command = std::get_if<plan::Command>(&step.action)) {
    HEADROOM_CHECK(check_program(doors, command->argv));
    return check_program(doors, command->undo);
  }
  return Done{};
}

Result<std::vector<std::string>> missing_folders(const machine::WritableFiles& files,
                                                 const plan::Step& step) {
  std::string path;
  if (const auto* edit = std::get_if<plan::FileEdit>(&step.action)) {
    if (!edit->after) return std::vector<std::string>();
    HEADROOM_TRY(path, files.resolve(edit->path));
  } else if (const auto* link = std::get_if<plan::LinkEdit>(&step.action)) {
    if (!link->after) return std::vector<std::string>();
    path = link->path;
  } else {
    return std::vector<std::string>();
  }
  std::vector<std::string> missing;
  for (std::size_t slash = path.rfind('/'); slash != 0 && slash != std::string::npos;
       slash = path.rfind('/', slash - 1)) {
    const std::string folder = path.substr(0, slash);
    HEADROOM_TRY(const auto entry, files.look(folder));
    if (entry) break;
    missing.push_back(folder);
  }
  std::reverse(missing.begin(), missing.end());
  return missing;
}

Status carry_out(const Doors& doors, const plan::Step& step) {
  HEADROOM_TRY(const auto folders, missing_folders(doors.files, step));
  for (const std::string& folder : folders) HEADROOM_CHECK(doors.files.make_folder(folder, 0755));
  if (const auto* edit = std::get_if<plan::FileEdit>(&step.action)) {
    HEADROOM_CHECK(write(doors, *edit));
  } else if (const auto* link = std::get_if<plan::LinkEdit>(&step.action)) {
    HEADROOM_CHECK(write(doors, *link));
  } else if (const auto* command = std::get_if<plan::Command>(&step.action)) {
    HEADROOM_CHECK(run_command(doors, command->argv));
  }
  for (const plan::Expectation& expectation : step.expects) {
    HEADROOM_CHECK(check(doors.files, expectation));
  }
  return Done{};
}

}  // namespace headroom::change

// SPDX-License-Identifier: Apache-2.0
#include "cli/replay_files.h"

#include <fmt/format.h>

#include "allocator/models/make_policy.h"
#include "allocator/replay/replay_history.h"
#include "allocator/replay/snapshot_of_heap.h"
#include "allocator/snapshot/snapshot_writer.h"
#include "machine/user_files.h"
#include "report/replay_html.h"
#include "report/replay_picture.h"

namespace headroom::cli {
namespace {

allocator::ReplayHistory history_of(const ReplayInput& input, const report::ReplayRow& row) {
  const auto policy = *allocator::make_policy(
      row.policy, row.capacity_bytes.value_or(allocator::unlimited_capacity_bytes));
  return allocator::replay_with_history(input.trace, *policy);
}

std::string where_to(const std::string& option) {
  return "name a file in a folder that you may write to: " + option + " FILE";
}

Status write(const std::string& path, const std::string& text, const std::string& option) {
  auto written = machine::write_file_atomic(path, text);
  if (written) return Done{};
  Error error = std::move(written).error();
  if (error.next.empty()) error.next = where_to(option);
  return error;
}

Status check_name(const std::string& path, const std::string& option,
                  const std::vector<std::string>& taken) {
  if (path.empty()) return Done{};
  for (const std::string& other : taken) {
    if (path == other || machine::is_same_file(path, other))
      return Error{Errc::invalid,
                   fmt::format("{}: expected a file of its own, found {}, which is read or written "
                               "already",
                               option, path),
                   option + " FILE, under another name"};
  }
  return Done{};
}

Status check_place(const std::string& path, const std::string& option) {
  if (path.empty()) return Done{};
  const auto there = machine::kind_of(path);
  if (there && *there == EntryKind::folder)
    return Error{Errc::invalid, fmt::format("writing {}: expected a file, found a folder", path),
                 where_to(option)};
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const auto kind = machine::kind_of(folder);
  if (kind && *kind == EntryKind::folder) return Done{};
  return Error{Errc::not_found, fmt::format("writing {}: there is no folder {}", path, folder),
               where_to(option)};
}

Status write_export(const ReplayFiles& files, const ReplayInput& input,
                    const report::ReplayRow& row) {
  const bool as_recorded = input.recorded && !files.exports_policy;
  const allocator::Snapshot snapshot =
      as_recorded ? to_snapshot(*input.recorded)
                  : to_snapshot(history_of(input, row),
                                row.capacity_bytes.value_or(allocator::unlimited_capacity_bytes));
  return write(files.exported, to_pickle(snapshot), "--export");
}

// About a piece of the curve for every two pixels, and as many blocks as a browser draws at once.
constexpr std::size_t most_pieces = 440;
constexpr std::size_t most_blocks = 4000;

Status write_page(const std::string& path, const ReplayInput& input,
                  const report::TraceFacts& facts, const std::vector<report::ReplayRow>& rows) {
  std::vector<report::ReplayPicture> pictures;
  for (const report::ReplayRow& row : rows)
    pictures.push_back(
        report::make_replay_picture(row, history_of(input, row), most_pieces, most_blocks));
  return write(path, report::to_html(facts, input.snapshot, pictures), "--html");
}

}  // namespace

Status check_names(const ReplayFiles& files, const std::string& trace) {
  HEADROOM_CHECK(check_name(files.html, "--html", {trace}));
  return check_name(files.exported, "--export", {trace, files.html});
}

Status check_places(const ReplayFiles& files) {
  HEADROOM_CHECK(check_place(files.html, "--html"));
  return check_place(files.exported, "--export");
}

Status write_replay_files(const ReplayFiles& files, const ReplayInput& input,
                          const report::TraceFacts& facts,
                          const std::vector<report::ReplayRow>& rows) {
  if (!files.exported.empty()) HEADROOM_CHECK(write_export(files, input, rows.front()));
  if (!files.html.empty()) HEADROOM_CHECK(write_page(files.html, input, facts, rows));
  return Done{};
}

}  // namespace headroom::cli

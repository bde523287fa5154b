// SPDX-License-Identifier: Apache-2.0
#include "cli/replay_files.h"

#include "allocator/models/make_policy.h"
#include "allocator/replay/replay_history.h"
#include "allocator/replay/snapshot_of_heap.h"
#include "allocator/snapshot/snapshot_writer.h"
#include "base/require.h"
#include "report/replay_html.h"
#include "report/replay_picture.h"

namespace headroom::cli {
namespace {

allocator::ReplayHistory history_of(const ReplayInput& input, const report::ReplayRow& row) {
  const auto policy = *allocator::make_policy(
      row.policy, row.capacity_bytes.value_or(allocator::unlimited_capacity_bytes));
  return allocator::replay_with_history(input.trace, *policy);
}

Status write_export(const ReplayFiles& files, const ReplayInput& input,
                    const report::ReplayRow& row) {
  const bool as_recorded = input.recorded && !files.exports_policy;
  const allocator::Snapshot snapshot =
      as_recorded ? to_snapshot(*input.recorded)
                  : to_snapshot(history_of(input, row),
                                row.capacity_bytes.value_or(allocator::unlimited_capacity_bytes));
  return machine::write_output({"--export", files.exported}, to_pickle(snapshot));
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
  return machine::write_output({"--html", path}, report::to_html(facts, input.snapshot, pictures));
}

}  // namespace

std::vector<machine::OutputFile> to_outputs(const ReplayFiles& files) {
  return {{"--html", files.html}, {"--export", files.exported}};
}

Status write_replay_files(const ReplayFiles& files, const ReplayInput& input,
                          const report::TraceFacts& facts,
                          const std::vector<report::ReplayRow>& rows) {
  require(files.exported.empty() || !files.exports_policy || rows.size() == 1,
          "the replay that is exported is that of one policy");
  if (!files.exported.empty()) HEADROOM_CHECK(write_export(files, input, rows.front()));
  if (!files.html.empty()) HEADROOM_CHECK(write_page(files.html, input, facts, rows));
  return Done{};
}

}  // namespace headroom::cli

// SPDX-License-Identifier: Apache-2.0
#include "change/observe.h"

#include "base/require.h"
#include "machine/checksum.h"

namespace headroom::change {

bool Sight::operator==(const Sight& other) const {
  if (entry.has_value() != other.entry.has_value()) return false;
  if (!entry) return true;
  if (entry->kind != other.entry->kind) return false;
  // A link has no attributes of its own that anybody sets.
  if (entry->kind == EntryKind::link) return entry->target == other.entry->target;
  return checksum == other.checksum && entry->attributes == other.entry->attributes;
}

Result<Sight> observe(const machine::WritableFiles& files, const std::string& path) {
  Sight sight;
  HEADROOM_TRY(sight.entry, files.look(path));
  if (sight.entry && sight.entry->kind == EntryKind::file) {
    HEADROOM_TRY(sight.checksum, machine::sha256_of(files, path));
  }
  return sight;
}

bool is_loader_entry(std::string_view path) {
  return path.find("/loader/entries/") != std::string_view::npos;
}

Sight sight_before(const plan::Touched& touched) {
  return {touched.before, touched.before_checksum};
}

Sight sight_after(const plan::Touched& touched) {
  require(touched.done, "a file has a state after a step once the step is done");
  return {touched.after, touched.after_checksum};
}

namespace {

Status add_matches(const machine::WritableFiles& files, const std::vector<std::string>& patterns,
                   std::vector<std::string>& paths) {
  for (const std::string& pattern : patterns) {
    HEADROOM_TRY(const auto found, files.match(pattern));
    for (const std::string& path : found) {
      HEADROOM_TRY(auto real, files.resolve(path));
      paths.push_back(std::move(real));
    }
    // One that is named outright belongs to the step even before it is there.
    if (found.empty() && pattern.find('*') == std::string::npos) paths.push_back(pattern);
  }
  return Done{};
}

}  // namespace

Result<StepPaths> paths_of(const machine::WritableFiles& files, const plan::Step& step) {
  StepPaths paths;
  if (const auto* edit = std::get_if<plan::FileEdit>(&step.action)) {
    HEADROOM_TRY(auto path, files.resolve(edit->path));
    paths.authored.push_back(std::move(path));
  } else if (const auto* link = std::get_if<plan::LinkEdit>(&step.action)) {
    paths.authored.push_back(link->path);
  } else if (const auto* command = std::get_if<plan::Command>(&step.action)) {
    HEADROOM_CHECK(add_matches(files, command->edits, paths.authored));
    HEADROOM_CHECK(add_matches(files, command->generates, paths.generated));
  }
  return paths;
}

const plan::Step& step_at(const plan::Change& change, std::size_t index) {
  require(index < step_count(change), "a change has the step that is asked for");
  const std::size_t count = change.steps.size();
  return index < count ? change.steps[index] : change.on_confirm[index - count];
}

std::size_t step_count(const plan::Change& change) {
  return change.steps.size() + change.on_confirm.size();
}

}  // namespace headroom::change

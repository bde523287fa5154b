// SPDX-License-Identifier: Apache-2.0
#include "plan/record_json.h"

#include <fmt/format.h>

#include "base/document.h"
#include "plan/change_json.h"
#include "plan/json_fields.h"

namespace headroom {

// As the file says it; found by Fields::choice.
static std::string_view to_string(EntryKind kind) {
  switch (kind) {
    case EntryKind::file:
      return "file";
    case EntryKind::link:
      return "link";
    case EntryKind::folder:
      return "folder";
    case EntryKind::other:
      return "other";
  }
  return "";
}

namespace plan {
namespace {

constexpr std::string_view schema = "headroom.record/1";

Ordered entry_to_json(const std::optional<FileEntry>& entry) {
  if (!entry) return nullptr;
  Ordered extended = Ordered::array();
  for (const auto& [name, value] : entry->attributes.extended) {
    extended.push_back({{"name", bytes_to_json(name)}, {"value", bytes_to_json(value)}});
  }
  Ordered json = {{"kind", to_string(entry->kind)},
                  {"mode", entry->attributes.mode},
                  {"uid", entry->attributes.uid},
                  {"gid", entry->attributes.gid},
                  {"extended", extended},
                  {"size", entry->size},
                  {"target", bytes_to_json(entry->target)}};
  if (entry->names > 1) json["names"] = entry->names;
  return json;
}

Ordered to_json(const Touched& touched) {
  return {{"path", bytes_to_json(touched.path)},
          {"step", touched.step},
          {"generated", touched.generated},
          {"before", entry_to_json(touched.before)},
          {"before_checksum", bytes_to_json(touched.before_checksum)},
          {"original", bytes_to_json(touched.original)},
          {"done", touched.done},
          {"after", entry_to_json(touched.after)},
          {"after_checksum", bytes_to_json(touched.after_checksum)}};
}

std::uint32_t number_32(const Fields& fields, std::string_view key) {
  return static_cast<std::uint32_t>(fields.number(key, UINT32_MAX));
}

std::optional<FileEntry> read_entry(const Fields& touched, std::string_view key) {
  if (!touched.has(key)) return std::nullopt;
  const Fields fields = touched.object(key);
  FileEntry entry;
  entry.kind = fields.choice("kind", EntryKind::other);
  entry.attributes = {
      number_32(fields, "mode"), number_32(fields, "uid"), number_32(fields, "gid"), {}};
  fields.each("extended", [&entry](const Fields& one) {
    entry.attributes.extended[one.text("name")] = one.text("value");
  });
  entry.size = fields.number("size");
  if (fields.has("names")) entry.names = fields.number("names");
  entry.target = fields.text("target");
  return entry;
}

// A name that stays in the folder it is joined to.
bool is_plain_name(std::string_view name) {
  return name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos &&
         name != "." && name != "..";
}

Touched read_touched(const Fields& fields) {
  Touched touched;
  touched.path = fields.text("path");
  if (!touched.path.starts_with('/')) fields.say("path", "a path from the root");
  touched.step = fields.number("step");
  touched.generated = fields.boolean("generated");
  touched.before = read_entry(fields, "before");
  touched.before_checksum = fields.text("before_checksum");
  touched.original = fields.text("original");
  if (!is_plain_name(touched.original)) fields.say("original", "the name of a file");
  touched.done = fields.boolean("done");
  touched.after = read_entry(fields, "after");
  touched.after_checksum = fields.text("after_checksum");
  return touched;
}

Record read_record(const Fields& fields) {
  Record record;
  record.id = fields.text("id");
  if (record.id.empty() || !is_plain_name(record.id)) fields.say("id", "the name of a folder");
  record.made = fields.text("made");
  record.ended = fields.text("ended");
  record.state = fields.choice("state", State::undone);
  if (fields.has("undone_from")) record.undone_from = fields.choice("undone_from", State::undone);
  record.said = fields.text("said");
  record.change = read_change(fields.object("change"));
  const std::size_t steps = record.change.steps.size() + record.change.on_confirm.size();
  record.steps_done = fields.number("steps_done", steps);
  record.running = fields.optional_number("running");
  if (record.running && *record.running >= steps) fields.say("running", "the number of a step");
  fields.each("touched", [&record, steps](const Fields& one) {
    record.touched.push_back(read_touched(one));
    if (record.touched.back().step >= steps) one.say("step", "the number of a step of the change");
  });
  record.folders_made = fields.texts("folders_made");
  record.boot_id = fields.text("boot_id");
  return record;
}

}  // namespace

Ordered to_json(const Record& record) {
  Ordered touched = Ordered::array();
  for (const Touched& one : record.touched) touched.push_back(to_json(one));
  Ordered json = {{"schema", schema},
                  {"id", bytes_to_json(record.id)},
                  {"made", bytes_to_json(record.made)},
                  {"ended", bytes_to_json(record.ended)},
                  {"state", to_string(record.state)},
                  {"said", bytes_to_json(record.said)},
                  {"change", to_json(record.change)},
                  {"steps_done", record.steps_done},
                  {"running", record.running ? Ordered(*record.running) : Ordered(nullptr)},
                  {"touched", touched},
                  {"folders_made", bytes_to_json(record.folders_made)},
                  {"boot_id", bytes_to_json(record.boot_id)}};
  if (record.undone_from) json["undone_from"] = to_string(*record.undone_from);
  return json;
}

std::string to_json_text(const Record& record) {
  return to_json(record).dump(2) + "\n";
}

Result<Record> record_from_json(const Json& json) {
  Mistake mistake;
  const Fields fields(json, "", mistake);
  const std::string version = fields.text("schema");
  if (!mistake.error && version != schema) {
    return Error{Errc::unsupported,
                 fmt::format("expected a record of {}, found {}", schema, version),
                 "use the version of headroom that made the change"};
  }
  Record record = read_record(fields);
  if (mistake.error) return *std::move(mistake.error);
  return record;
}

Result<Record> parse_record(std::string_view text) {
  HEADROOM_TRY(const Json json, parse_json(text));
  return record_from_json(json);
}

}  // namespace plan
}  // namespace headroom

// SPDX-License-Identifier: Apache-2.0
#include "plan/record_json.h"

#include <fmt/format.h>

#include "base/byte_json.h"
#include "base/document.h"
#include "base/document_reader.h"
#include "plan/change_json.h"

namespace headroom {

// As the file says it; found by TableReader::choice.
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

using Ordered = nlohmann::ordered_json;

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

std::uint32_t number_32(TableReader& table, std::string_view key) {
  return static_cast<std::uint32_t>(table.number(key, {0, UINT32_MAX}));
}

std::optional<FileEntry> read_entry(TableReader& touched, std::string_view key) {
  if (!touched.has(key)) return std::nullopt;
  TableReader table = touched.table(key);
  FileEntry entry;
  entry.kind = table.choice("kind", EntryKind::other);
  entry.attributes = {
      number_32(table, "mode"), number_32(table, "uid"), number_32(table, "gid"), {}};
  for (TableReader& one : table.tables("extended")) {
    entry.attributes.extended[one.byte_string("name")] = one.byte_string("value");
  }
  entry.size = table.number("size");
  if (table.has("names")) entry.names = table.number("names");
  entry.target = table.byte_string("target");
  return entry;
}

// A name that stays in the folder it is joined to.
bool is_plain_name(std::string_view name) {
  return name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos &&
         name != "." && name != "..";
}

Touched read_touched(TableReader& table) {
  Touched touched;
  touched.path = table.byte_string("path");
  if (!touched.path.starts_with('/')) table.wrong("path", "a path from the root");
  touched.step = table.number("step");
  touched.generated = table.flag("generated");
  touched.before = read_entry(table, "before");
  touched.before_checksum = table.byte_string("before_checksum");
  touched.original = table.byte_string("original");
  if (!is_plain_name(touched.original)) table.wrong("original", "the name of a file");
  touched.done = table.flag("done");
  touched.after = read_entry(table, "after");
  touched.after_checksum = table.byte_string("after_checksum");
  return touched;
}

Record read_record(TableReader& table) {
  Record record;
  record.id = table.byte_string("id");
  if (record.id.empty() || !is_plain_name(record.id)) table.wrong("id", "the name of a folder");
  record.made = table.byte_string("made");
  record.ended = table.byte_string("ended");
  record.state = table.choice("state", State::undone);
  if (table.has("undone_from")) record.undone_from = table.choice("undone_from", State::undone);
  record.said = table.byte_string("said");
  TableReader change = table.table("change");
  record.change = read_change(change);
  const std::size_t steps = record.change.steps.size() + record.change.on_confirm.size();
  record.steps_done = table.number("steps_done", {0, steps});
  record.running = table.nullable_number("running");
  if (record.running && *record.running >= steps) table.wrong("running", "the number of a step");
  for (TableReader& one : table.tables("touched")) {
    record.touched.push_back(read_touched(one));
    if (record.touched.back().step >= steps)
      one.wrong("step", "the number of a step of the change");
  }
  record.folders_made = table.byte_strings("folders_made");
  record.boot_id = table.byte_string("boot_id");
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
  DocumentReader reader(json, record_words());
  TableReader table = reader.root();
  const std::string version = table.text("schema");
  if (!reader.failed() && version != schema) {
    return Error{Errc::unsupported,
                 fmt::format("expected a record of {}, found {}", schema, version),
                 "use the version of headroom that made the change"};
  }
  Record record = read_record(table);
  HEADROOM_CHECK(reader.finish());
  return record;
}

Result<Record> parse_record(std::string_view text) {
  HEADROOM_TRY(const Json json, parse_json(text));
  return record_from_json(json);
}

}  // namespace plan
}  // namespace headroom

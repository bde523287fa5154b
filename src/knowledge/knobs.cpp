// SPDX-License-Identifier: Apache-2.0
#include "knowledge/knobs.h"

#include <algorithm>

#include "base/document.h"
#include "base/document_reader.h"
#include "base/text.h"
#include "knowledge/embedded.h"

namespace headroom::knowledge {
namespace {

const TableReader::Words<KnobValue> value_words = {
    {"switch", KnobValue::toggle}, {"bit", KnobValue::bit},
    {"number", KnobValue::number}, {"fraction", KnobValue::fraction},
    {"words", KnobValue::words},   {"mask", KnobValue::mask},
    {"gfx", KnobValue::gfx},       {"options", KnobValue::options},
    {"text", KnobValue::text}};
const TableReader::Words<KnobClass> class_words = {{"normal", KnobClass::normal},
                                                   {"debugging", KnobClass::debugging},
                                                   {"deprecated", KnobClass::deprecated},
                                                   {"dangerous", KnobClass::dangerous},
                                                   {"no-effect", KnobClass::no_effect}};

void read_texts(TableReader& row, Knob& knob) {
  knob.name = row.text("name");
  row.read("alias", knob.alias);
  knob.component = row.text("component");
  knob.value = row.word("value", value_words);
  row.read("unit", knob.unit);
  row.read("scale", knob.scale);
  knob.does = row.text("does");
  row.read("cost", knob.cost);
  row.read("instead", knob.instead);
  row.read("build", knob.build);
  row.read("needs_note", knob.needs_note);
  row.read_word("class", knob.kind, class_words);
  knob.source = row.text("source");
  const std::string certainty = row.text("certainty");
  if (certainty.size() == 1 && certainty[0] >= 'A' && certainty[0] <= 'D') {
    knob.certainty = certainty[0];
  } else {
    row.wrong("certainty", "A, B, C or D");
  }
}

void read_range(TableReader& row, Knob& knob) {
  std::vector<double> range;
  row.read("range", range);
  if (range.empty()) return;
  if (range.size() != 2 || range[0] > range[1]) return row.wrong("range", "[least, most]");
  knob.range = {range[0], range[1]};
}

Knob read_knob(TableReader& row) {
  Knob knob;
  read_texts(row, knob);
  read_range(row, knob);
  row.read("default", knob.default_value);
  row.read("power_of_two", knob.power_of_two);
  row.read("limit", knob.limit);
  row.read("words", knob.words);
  row.read("harmless", knob.harmless);
  row.read("matters", knob.matters);
  row.read("needs", knob.needs);
  row.read("since", knob.since);
  row.read("until", knob.until);
  row.read("deprecated_since", knob.deprecated_since);
  row.read("conflicts", knob.conflicts);
  row.refuse_unknown();
  return knob;
}

// A variable may be unknown because the table lacks it, so only a clear typing error counts: one
// letter, or two (a transposed pair) in a long name. Options and parameters are closed sets.
std::size_t letters_allowed(std::string_view name) {
  if (name.find_first_of(":.") != std::string_view::npos)
    return std::max<std::size_t>(2, name.size() / 4);
  return name.size() >= 16 ? 2 : 1;
}

char kind_of_name(std::string_view name) {
  const std::size_t mark = name.find_first_of(":.");
  return mark == std::string_view::npos ? '_' : name[mark];
}

// The numbers at the front of "2.10.0a0+rocm7.1": 2, 10, 0.
std::vector<std::uint64_t> version_numbers(std::string_view version) {
  std::vector<std::uint64_t> numbers;
  for (const std::string_view part : split(version, '.')) {
    const std::size_t digits = std::min(part.find_first_not_of("0123456789"), part.size());
    const auto number = parse_u64(part.substr(0, digits));
    if (!number) break;
    numbers.push_back(*number);
    if (digits != part.size()) break;
  }
  return numbers;
}

}  // namespace

const Knob* KnobTable::find(std::string_view name) const {
  const auto exact = by_name_.find(name);
  if (exact != by_name_.end()) return &rows_[exact->second];
  const std::size_t digits = name.find_last_not_of("0123456789") + 1;
  if (digits == name.size()) return nullptr;
  const auto numbered = by_name_.find(std::string(name.substr(0, digits)) + "*");
  return numbered == by_name_.end() ? nullptr : &rows_[numbered->second];
}

const Knob& KnobTable::meaning_of(const Knob& knob) const {
  const Knob* meaning = knob.alias.empty() ? nullptr : find(knob.alias);
  return meaning == nullptr ? knob : *meaning;
}

bool KnobTable::exists(std::string_view module, std::string_view parameter) const {
  const auto listed = parameters_.find(module);
  if (listed == parameters_.end()) return false;
  return std::find(listed->second.begin(), listed->second.end(), parameter) != listed->second.end();
}

bool KnobTable::has_module(std::string_view module) const {
  return parameters_.contains(module);
}

std::optional<std::string> KnobTable::meant(std::string_view name) const {
  const Knob* best = nullptr;
  std::size_t least = letters_allowed(name) + 1;
  if (name.size() < 8) return std::nullopt;
  for (const Knob& knob : rows_) {
    // Nobody mistypes the first letters, and most variables of an environment have others.
    if (knob.name.substr(0, 2) != name.substr(0, 2)) continue;
    if (kind_of_name(knob.name) != kind_of_name(name)) continue;
    const std::size_t longer = std::max(name.size(), knob.name.size());
    if (longer - std::min(name.size(), knob.name.size()) >= least) continue;
    const std::size_t letters = edit_distance(name, knob.name);
    if (letters >= least) continue;
    least = letters;
    best = &knob;
  }
  return best == nullptr ? std::nullopt : std::optional<std::string>(best->name);
}

Result<KnobTable> parse_knobs(std::string_view text) {
  HEADROOM_TRY(const Document document, parse_toml(text));
  KnobTable table;
  DocumentReader reader(document, {.file = "data/knobs.toml"});
  for (TableReader& row : reader.root().rows("knob")) {
    Knob knob = read_knob(row);
    if (!table.by_name_.emplace(knob.name, table.rows_.size()).second) {
      row.wrong("name", "a name that no other knob has");
    }
    table.rows_.push_back(std::move(knob));
  }
  TableReader exists = reader.root().optional_table("exists");
  for (const char* module : {"amdgpu", "ttm", "amdttm"}) {
    exists.read(module, table.parameters_[module]);
  }
  exists.refuse_unknown();
  HEADROOM_CHECK(reader.finish());
  return table;
}

Result<KnobTable> load_knobs() {
  return parse_knobs(embedded("knobs"));
}

std::optional<bool> parse_toggle(std::string_view value) {
  const std::string word = to_lower(value);
  for (const char* yes : {"1", "true", "yes", "on", "enable", "enabled", "y"}) {
    if (word == yes) return true;
  }
  for (const char* no : {"0", "false", "no", "off", "disable", "disabled", "n"}) {
    if (word == no) return false;
  }
  return std::nullopt;
}

bool is_default(const Knob& knob, std::string_view value) {
  if (!knob.default_value) return false;
  if (value == *knob.default_value) return true;
  const auto is = parse_toggle(value);
  return knob.value == KnobValue::toggle && is && is == parse_toggle(*knob.default_value);
}

bool is_harmless(const Knob& knob, std::string_view value) {
  return is_default(knob, value) ||
         std::find(knob.harmless.begin(), knob.harmless.end(), value) != knob.harmless.end();
}

std::optional<Bytes> unit_size(std::string_view unit) {
  if (unit == "B") return 1_B;
  if (unit == "KiB") return 1_KiB;
  if (unit == "page") return 4_KiB;
  if (unit == "MiB") return 1_MiB;
  if (unit == "GiB") return 1_GiB;
  return std::nullopt;
}

std::optional<int> compare_versions(std::string_view a, std::string_view b) {
  const auto left = version_numbers(a);
  const auto right = version_numbers(b);
  if (left.empty() || right.empty()) return std::nullopt;
  for (std::size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
    const std::uint64_t x = i < left.size() ? left[i] : 0;
    const std::uint64_t y = i < right.size() ? right[i] : 0;
    if (x != y) return x < y ? -1 : 1;
  }
  return 0;
}

std::string_view to_string(KnobClass kind) {
  switch (kind) {
    case KnobClass::debugging:
      return "debugging";
    case KnobClass::deprecated:
      return "deprecated";
    case KnobClass::dangerous:
      return "dangerous";
    case KnobClass::no_effect:
      return "no-effect";
    case KnobClass::normal:
      break;
  }
  return "normal";
}

}  // namespace headroom::knowledge

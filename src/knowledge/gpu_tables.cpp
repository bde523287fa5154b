// SPDX-License-Identifier: Apache-2.0
#include "knowledge/gpu_tables.h"

#include <fmt/format.h>

#include "base/document.h"
#include "base/document_reader.h"
#include "base/text.h"
#include "knowledge/embedded.h"

namespace headroom::knowledge {
namespace {

// "~5.0" is about 5.0.
std::string drop_about(const std::string& release, bool& about) {
  about = release.starts_with('~');
  return about ? release.substr(1) : release;
}

void read_official(TableReader& row, const std::string& current, Target& target) {
  std::vector<std::string> official;
  row.read("official", official);
  if (official.empty()) return;
  if (official.size() != 2) return row.wrong("official", "[first, last]");
  target.rocm_first = drop_about(official[0], target.about_first);
  if (official[1] != "current" && official[1] != current) {
    target.rocm_last = drop_about(official[1], target.about_last);
  }
}

const TableReader::Words<Reset> reset_words = {{"mode1", Reset::mode1},
                                               {"mode2", Reset::mode2},
                                               {"baco-or-mode1", Reset::baco_or_mode1},
                                               {"baco-or-legacy", Reset::baco_or_legacy}};
constexpr Range wavefronts = {32, 64};
constexpr Range firmware_versions = {0, 1U << 30U};

void read_hardware(TableReader& row, Target& target) {
  target.kind = row.word<Kind>(
      "kind",
      {{"integrated", Kind::integrated}, {"discrete", Kind::discrete}, {"both", Kind::both}});
  target.wavefront = static_cast<int>(row.number("wave", wavefronts));
  row.read("vgprs_1_5x", target.large_register_file);
  row.read("pcie_atomics", target.pcie_atomics);
  if (row.has("mec_without_atomics")) {
    target.mec_without_atomics =
        static_cast<int>(row.number("mec_without_atomics", firmware_versions));
  }
  row.read_word("reset", target.reset, reset_words);
  row.read_word("reset_integrated", target.reset_integrated, reset_words);
}

Target read_target(TableReader& row, const std::string& current) {
  Target target;
  target.gfx = row.text("gfx");
  target.family = row.text("family");
  target.chip = row.text("chip");
  target.cards = row.text("cards");
  row.read("names", target.names);
  read_hardware(row, target);
  row.read_word("therock", target.therock,
                {{"builds", TheRock::builds}, {"ready", TheRock::ready}});
  row.read_word("torch", target.torch,
                {{"legacy", TorchWheels::legacy}, {"current", TorchWheels::current}});
  row.read_word("attention", target.attention,
                {{"experimental", Attention::experimental}, {"yes", Attention::yes}});
  row.read("without", target.without);
  row.read("generic", target.generic);
  row.read("note", target.note);
  read_official(row, current, target);
  target.origin = read_origin(row);
  row.refuse_unknown();
  return target;
}

// Each row says the same of several targets; of two rows, "*" counts where no other names the
// value.
Status parse_overrides(std::string_view text, std::map<std::string, Target>& targets) {
  HEADROOM_TRY(const Document document, parse_toml(text));
  DocumentReader reader(document, {.file = "data/overrides.toml"});
  for (TableReader& row : reader.root().rows("override")) {
    Override judged;
    const std::string value = row.text("value");
    std::vector<std::string> on;
    row.read("on", on);
    judged.risk = row.word<Risk>(
        "risk", {{"low", Risk::low}, {"medium", Risk::medium}, {"dangerous", Risk::dangerous}});
    judged.why = row.text("why");
    judged.origin = read_origin(row);
    row.refuse_unknown();
    for (const std::string& gfx : on) {
      const auto target = targets.find(gfx);
      if (target == targets.end()) {
        row.wrong("on", fmt::format("targets of gpus.toml, which has no {}", gfx));
      } else if (!target->second.overrides.emplace(value, judged).second) {
        row.wrong("value", fmt::format("a value that no other row has for {}", gfx));
      }
    }
  }
  return reader.finish();
}

Device read_device(TableReader& row) {
  Device device;
  device.gfx = row.text("gfx");
  device.name = row.text("name");
  row.read("integrated", device.integrated);
  std::map<std::string, std::string> revisions;
  row.read("revisions", revisions);
  for (const auto& [revision, name] : revisions) {
    if (const auto number = parse_hex(revision)) {
      device.revisions[static_cast<std::uint32_t>(*number)] = name;
    } else {
      row.wrong("revisions", "hexadecimal revisions");
    }
  }
  row.refuse_unknown();
  return device;
}

void read_device_group(TableReader& group, GpuTables& tables) {
  const Origin origin = read_origin(group);
  for (TableReader& row : group.rows("device")) {
    const auto id = parse_hex(row.name());
    if (!id) row.wrong("", "a hexadecimal device id as its name");
    Device device = read_device(row);
    if (!tables.targets.contains(device.gfx)) row.wrong("gfx", "a target of gpus.toml");
    device.origin = origin;
    const auto key = static_cast<std::uint32_t>(id.value_or(0));
    if (!tables.devices.emplace(key, std::move(device)).second) {
      row.wrong("", "a device id that no other row has");
    }
  }
  group.refuse_unknown();
}

Status parse_devices(std::string_view text, GpuTables& tables) {
  HEADROOM_TRY(const Document document, parse_toml(text));
  DocumentReader reader(document, {.file = "data/devices.toml"});
  for (TableReader& group : reader.root().rows("group")) read_device_group(group, tables);
  return reader.finish();
}

Stack read_stack(TableReader& row) {
  Stack stack;
  stack.rocm = row.text("rocm");
  stack.torch = row.text("torch");
  stack.index = row.text("index");
  stack.python = row.text("python");
  stack.evidence = row.text("evidence");
  row.read("also", stack.also);
  row.read("libraries", stack.libraries);
  stack.origin = read_origin(row);
  row.refuse_unknown();
  return stack;
}

Status parse_stacks(std::string_view text, GpuTables& tables) {
  HEADROOM_TRY(const Document document, parse_toml(text));
  DocumentReader reader(document, {.file = "data/stacks.toml"});
  TableReader indexes = reader.root().optional_table("indexes");
  tables.torch_index = indexes.text("torch");
  tables.device_index = indexes.text("device");
  for (TableReader& row : reader.root().rows("stack")) {
    const std::string gfx = row.text("gfx");
    tables.stacks[gfx] = read_stack(row);
  }
  return reader.finish();
}

Status parse_targets(std::string_view text, GpuTables& tables) {
  HEADROOM_TRY(const Document document, parse_toml(text));
  DocumentReader reader(document, {.file = "data/gpus.toml"});
  TableReader head = reader.root();
  tables.current_rocm = head.text("rocm");
  head.read("sources", tables.sources);
  for (TableReader& row : head.rows("target")) {
    Target target = read_target(row, tables.current_rocm);
    const std::string gfx = target.gfx;
    if (!tables.targets.emplace(gfx, std::move(target)).second) {
      row.wrong("gfx", "a target that no other row has");
    }
  }
  return reader.finish();
}

template <class Map, class Key>
const typename Map::mapped_type* find(const Map& map, const Key& key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

}  // namespace

const Target* GpuTables::target(std::string_view gfx) const {
  return find(targets, std::string(gfx));
}
const Device* GpuTables::device(std::uint32_t id) const {
  return find(devices, id);
}
const Stack* GpuTables::stack(std::string_view gfx) const {
  return find(stacks, std::string(gfx));
}

Result<GpuTables> parse_gpu_tables(const TableTexts& texts) {
  GpuTables tables;
  HEADROOM_CHECK(parse_targets(texts.gpus, tables));
  tables.card_names = CardNames(tables.targets);
  HEADROOM_CHECK(parse_overrides(texts.overrides, tables.targets));
  HEADROOM_CHECK(parse_devices(texts.devices, tables));
  HEADROOM_CHECK(parse_stacks(texts.stacks, tables));
  HEADROOM_TRY(tables.advisories, parse_advisories(texts.advisories));
  return tables;
}

Result<GpuTables> load_gpu_tables() {
  HEADROOM_TRY(GpuTables tables,
               parse_gpu_tables({embedded("gpus"), embedded("devices"), embedded("stacks"),
                                 embedded("overrides"), embedded("advisories")}));
  HEADROOM_TRY(tables.knobs, load_knobs());
  return tables;
}

std::vector<std::string> full_sources(const GpuTables& tables, const Origin& origin) {
  std::vector<std::string> sources;
  for (const std::string_view part : split(origin.source, ';')) {
    for (const std::string_view name : split(part, ',')) {
      const std::string word(trim(name));
      const auto letter = tables.sources.find(word);
      if (!word.empty()) sources.push_back(letter == tables.sources.end() ? word : letter->second);
    }
  }
  return sources;
}

Support support_of(const Target& target) {
  if (target.rocm_first && !target.rocm_last) return Support::official;
  if (target.rocm_last) return Support::dropped;
  if (target.therock == TheRock::ready) return Support::community;
  // On an APU a near target's code is no answer: memory and firmware paths were never tried either.
  for (const auto& [value, judged] : target.overrides) {
    const bool medium = judged.risk == Risk::medium && target.kind == Kind::discrete;
    if (judged.risk == Risk::low || medium) {
      return Support::override;
    }
  }
  return Support::unsupported;
}

std::string_view to_string(Support support) {
  switch (support) {
    case Support::official:
      return "official";
    case Support::community:
      return "community";
    case Support::override:
      return "override";
    case Support::dropped:
      return "dropped";
    case Support::unsupported:
      break;
  }
  return "unsupported";
}

std::optional<Override> judge_override(const Target& target, std::string_view value) {
  const auto named = target_of_override(value);
  if (named == target.gfx) return std::nullopt;
  if (const Override* known = find(target.overrides, std::string(value))) return *known;
  if (const Override* any = find(target.overrides, std::string("*"))) return *any;
  if (!named) {
    return Override{Risk::dangerous, "it is no version of the form major.minor.step", {}};
  }
  return Override{
      Risk::dangerous,
      fmt::format("{} is another chip, whose code is not known to run on {}", *named, target.gfx),
      {}};
}

std::optional<std::string> target_of_override(std::string_view value) {
  const auto parts = split(value, '.');
  if (parts.size() != 3) return std::nullopt;
  const auto major = parse_u64(parts[0]);
  const auto minor = parse_u64(parts[1]);
  const auto step = parse_u64(parts[2]);
  const bool numbers = major && minor && step && *major < 64 && *minor < 16 && *step < 16;
  if (!numbers) return std::nullopt;
  return gfx_name(*major * 10000 + *minor * 100 + *step);
}

std::string_view to_string(Risk risk) {
  switch (risk) {
    case Risk::low:
      return "low";
    case Risk::medium:
      return "medium";
    case Risk::dangerous:
      break;
  }
  return "dangerous";
}

std::optional<std::string> gfx_name(std::uint64_t version) {
  const std::uint64_t major = version / 10000;
  const std::uint64_t minor = version / 100 % 100;
  const std::uint64_t step = version % 100;
  if (major == 0 || major > 99 || minor > 15 || step > 15) return std::nullopt;
  return fmt::format("gfx{}{:x}{:x}", major, minor, step);
}

}  // namespace headroom::knowledge

// SPDX-License-Identifier: Apache-2.0
#include "knowledge/gpu_tables.h"

#include <fmt/format.h>

#include "base/text.h"
#include "knowledge/embedded.h"
#include "knowledge/table_reader.h"

namespace headroom::knowledge {
namespace {

// "~5.0" is about 5.0.
std::string drop_about(const std::string& release, bool& about) {
  about = release.starts_with('~');
  return about ? release.substr(1) : release;
}

Status parse_official(TableReader& row, const std::string& current, Target& target) {
  HEADROOM_TRY(const auto official, row.texts_or_none("official"));
  if (official.empty()) return Done{};
  if (official.size() != 2) return row.wrong("official", "[first, last]");
  target.rocm_first = drop_about(official[0], target.about_first);
  if (official[1] != "current" && official[1] != current) {
    target.rocm_last = drop_about(official[1], target.about_last);
  }
  return Done{};
}

Result<std::optional<Reset>> parse_reset(TableReader& row, const std::string& key) {
  if (!row.has(key)) return std::optional<Reset>();
  HEADROOM_TRY(const Reset reset,
               row.word<Reset>(key, {{"mode1", Reset::mode1},
                                     {"mode2", Reset::mode2},
                                     {"baco-or-mode1", Reset::baco_or_mode1},
                                     {"baco-or-legacy", Reset::baco_or_legacy}}));
  return std::optional(reset);
}

Status parse_hardware(TableReader& row, Target& target) {
  HEADROOM_TRY(target.kind, row.word<Kind>("kind", {{"integrated", Kind::integrated},
                                                    {"discrete", Kind::discrete},
                                                    {"both", Kind::both}}));
  HEADROOM_TRY(target.wavefront, row.number("wave"));
  HEADROOM_TRY(target.large_register_file, row.flag_or("vgprs_1_5x", false));
  HEADROOM_TRY(target.pcie_atomics, row.flag_or("pcie_atomics", false));
  if (row.has("mec_without_atomics")) {
    HEADROOM_TRY(target.mec_without_atomics, row.number("mec_without_atomics"));
  }
  HEADROOM_TRY(target.reset, parse_reset(row, "reset"));
  HEADROOM_TRY(target.reset_integrated, parse_reset(row, "reset_integrated"));
  return Done{};
}

Result<Target> parse_target(TableReader& row, const std::string& current) {
  Target target;
  HEADROOM_TRY(target.gfx, row.text("gfx"));
  HEADROOM_TRY(target.family, row.text("family"));
  HEADROOM_TRY(target.chip, row.text("chip"));
  HEADROOM_TRY(target.cards, row.text("cards"));
  HEADROOM_TRY(target.names, row.text_or("names", ""));
  HEADROOM_CHECK(parse_hardware(row, target));
  HEADROOM_TRY(target.therock,
               row.word_or<TheRock>("therock", TheRock::none,
                                    {{"builds", TheRock::builds}, {"ready", TheRock::ready}}));
  HEADROOM_TRY(target.torch, row.word_or<TorchWheels>("torch", TorchWheels::none,
                                                      {{"legacy", TorchWheels::legacy},
                                                       {"current", TorchWheels::current}}));
  HEADROOM_TRY(target.attention, row.word_or<Attention>("attention", Attention::none,
                                                        {{"experimental", Attention::experimental},
                                                         {"yes", Attention::yes}}));
  HEADROOM_TRY(target.without, row.texts_or_none("without"));
  HEADROOM_TRY(target.generic, row.text_or("generic", ""));
  HEADROOM_TRY(target.note, row.text_or("note", ""));
  HEADROOM_CHECK(parse_official(row, current, target));
  HEADROOM_TRY(target.origin, parse_origin(row));
  HEADROOM_CHECK(row.finish());
  return target;
}

// Each row says the same of several targets; of two rows, "*" counts where no other names the
// value.
Status parse_overrides(std::string_view text, std::map<std::string, Target>& targets) {
  HEADROOM_TRY(const Document document, parse_toml(text));
  for (const std::string& place : TableReader(document, "").rows("override")) {
    TableReader row(document, place);
    Override judged;
    HEADROOM_TRY(const std::string value, row.text("value"));
    HEADROOM_TRY(const auto on, row.texts_or_none("on"));
    HEADROOM_TRY(judged.risk, row.word<Risk>("risk", {{"low", Risk::low},
                                                      {"medium", Risk::medium},
                                                      {"dangerous", Risk::dangerous}}));
    HEADROOM_TRY(judged.why, row.text("why"));
    HEADROOM_TRY(judged.origin, parse_origin(row));
    HEADROOM_CHECK(row.finish());
    for (const std::string& gfx : on) {
      const auto target = targets.find(gfx);
      if (target == targets.end()) return row.wrong("on", "targets of gpus.toml, not " + gfx);
      if (!target->second.overrides.emplace(value, judged).second) {
        return row.wrong("value", "each value once for " + gfx);
      }
    }
  }
  return Done{};
}

Result<Device> parse_device(TableReader& row) {
  Device device;
  HEADROOM_TRY(device.gfx, row.text("gfx"));
  HEADROOM_TRY(device.name, row.text("name"));
  if (row.has("integrated")) {
    HEADROOM_TRY(device.integrated, row.flag_or("integrated", false));
  }
  HEADROOM_TRY(const auto revisions, row.named_texts("revisions"));
  for (const auto& [revision, name] : revisions) {
    const auto number = parse_hex(revision);
    if (!number) return row.wrong("revisions", "hexadecimal revisions");
    device.revisions[static_cast<std::uint32_t>(*number)] = name;
  }
  HEADROOM_CHECK(row.finish());
  return device;
}

Status parse_devices(std::string_view text, GpuTables& tables) {
  HEADROOM_TRY(const Document document, parse_toml(text));
  for (const std::string& at : TableReader(document, "").rows("group")) {
    TableReader group(document, at);
    HEADROOM_TRY(const Origin origin, parse_origin(group));
    const auto places = group.rows("device");
    HEADROOM_CHECK(group.finish());
    for (const std::string& place : places) {
      TableReader row(document, place);
      const auto id = parse_hex(place.substr(place.rfind('/') + 1));
      if (!id) return row.wrong("", "hexadecimal device ids");
      HEADROOM_TRY(Device device, parse_device(row));
      if (!tables.targets.contains(device.gfx)) return row.wrong("gfx", "a target of gpus.toml");
      device.origin = origin;
      if (!tables.devices.emplace(static_cast<std::uint32_t>(*id), std::move(device)).second) {
        return row.wrong("", "each device id once");
      }
    }
  }
  return Done{};
}

Result<Stack> parse_stack(TableReader& row) {
  Stack stack;
  HEADROOM_TRY(stack.rocm, row.text("rocm"));
  HEADROOM_TRY(stack.torch, row.text("torch"));
  HEADROOM_TRY(stack.index, row.text("index"));
  HEADROOM_TRY(stack.python, row.text("python"));
  HEADROOM_TRY(stack.evidence, row.text("evidence"));
  HEADROOM_TRY(stack.also, row.text_or("also", ""));
  HEADROOM_TRY(stack.origin, parse_origin(row));
  HEADROOM_CHECK(row.finish());
  return stack;
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
  HEADROOM_TRY(const Document targets, parse_toml(texts.gpus));
  TableReader head(targets, "");
  HEADROOM_TRY(tables.current_rocm, head.text("rocm"));
  HEADROOM_TRY(tables.sources, head.named_texts("sources"));
  for (const std::string& place : head.rows("target")) {
    TableReader row(targets, place);
    HEADROOM_TRY(Target target, parse_target(row, tables.current_rocm));
    const std::string gfx = target.gfx;
    if (!tables.targets.emplace(gfx, std::move(target)).second) {
      return row.wrong("gfx", "each target once");
    }
  }
  HEADROOM_CHECK(parse_overrides(texts.overrides, tables.targets));
  HEADROOM_CHECK(parse_devices(texts.devices, tables));
  HEADROOM_TRY(const Document old, parse_toml(texts.stacks));
  TableReader indexes(old, "/indexes");
  HEADROOM_TRY(tables.torch_index, indexes.text("torch"));
  HEADROOM_TRY(tables.device_index, indexes.text("device"));
  for (const std::string& place : TableReader(old, "").rows("stack")) {
    TableReader row(old, place);
    HEADROOM_TRY(const std::string gfx, row.text("gfx"));
    HEADROOM_TRY(tables.stacks[gfx], parse_stack(row));
  }
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

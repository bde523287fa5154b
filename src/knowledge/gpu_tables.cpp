// SPDX-License-Identifier: Apache-2.0
#include "knowledge/gpu_tables.h"

#include <fmt/format.h>

#include "base/text.h"
#include "knowledge/embedded.h"
#include "knowledge/table_reader.h"

namespace headroom::knowledge {
namespace {

Result<Target> parse_target(TableReader& row, const std::string& current) {
  Target target;
  HEADROOM_TRY(target.gfx, row.text("gfx"));
  HEADROOM_TRY(target.family, row.text("family"));
  HEADROOM_TRY(target.chip, row.text("chip"));
  HEADROOM_TRY(target.cards, row.text("cards"));
  HEADROOM_TRY(target.kind, row.word<Kind>("kind", {{"integrated", Kind::integrated},
                                                    {"discrete", Kind::discrete},
                                                    {"both", Kind::both}}));
  HEADROOM_TRY(target.therock,
               row.word_or<TheRock>("therock", TheRock::none,
                                    {{"builds", TheRock::builds}, {"ready", TheRock::ready}}));
  HEADROOM_TRY(target.torch, row.word_or<TorchWheels>("torch", TorchWheels::none,
                                                      {{"legacy", TorchWheels::legacy},
                                                       {"current", TorchWheels::current}}));
  HEADROOM_TRY(target.attention, row.word_or<Attention>("attention", Attention::none,
                                                        {{"experimental", Attention::experimental},
                                                         {"yes", Attention::yes}}));
  HEADROOM_TRY(target.wavefront, row.number("wave"));
  HEADROOM_TRY(target.pcie_atomics, row.flag_or("pcie_atomics", false));
  HEADROOM_TRY(const auto official, row.texts_or_none("official"));
  if (!official.empty()) {
    if (official.size() != 2) return row.wrong("official", "[first, last]");
    target.rocm_first = official[0];
    if (official[1] != "current" && official[1] != current) target.rocm_last = official[1];
  }
  HEADROOM_TRY(target.overrides, row.words<Risk>("override", {{"low", Risk::low},
                                                              {"medium", Risk::medium},
                                                              {"dangerous", Risk::dangerous}}));
  HEADROOM_CHECK(row.finish());
  return target;
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

Result<Stack> parse_stack(TableReader& row) {
  Stack stack;
  HEADROOM_TRY(stack.rocm, row.text("rocm"));
  HEADROOM_TRY(stack.torch, row.text("torch"));
  HEADROOM_TRY(stack.index, row.text("index"));
  HEADROOM_TRY(stack.python, row.text("python"));
  HEADROOM_TRY(stack.evidence, row.text("evidence"));
  HEADROOM_TRY(stack.also, row.text_or("also", ""));
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

Result<GpuTables> parse_gpu_tables(std::string_view gpus, std::string_view devices,
                                   std::string_view stacks) {
  GpuTables tables;
  HEADROOM_TRY(const Document targets, parse_toml(gpus));
  TableReader head(targets, "");
  HEADROOM_TRY(tables.current_rocm, head.text("rocm"));
  for (const std::string& place : head.rows("target")) {
    TableReader row(targets, place);
    HEADROOM_TRY(Target target, parse_target(row, tables.current_rocm));
    const std::string gfx = target.gfx;
    if (!tables.targets.emplace(gfx, std::move(target)).second) {
      return row.wrong("gfx", "each target once");
    }
  }
  HEADROOM_TRY(const Document ids, parse_toml(devices));
  for (const std::string& place : TableReader(ids, "").rows("device")) {
    TableReader row(ids, place);
    const auto id = parse_hex(place.substr(place.rfind('/') + 1));
    if (!id) return row.wrong("", "hexadecimal device ids");
    HEADROOM_TRY(Device device, parse_device(row));
    if (!tables.targets.contains(device.gfx)) return row.wrong("gfx", "a target of gpus.toml");
    tables.devices[static_cast<std::uint32_t>(*id)] = std::move(device);
  }
  HEADROOM_TRY(const Document old, parse_toml(stacks));
  for (const std::string& place : TableReader(old, "").rows("stack")) {
    TableReader row(old, place);
    HEADROOM_TRY(const std::string gfx, row.text("gfx"));
    HEADROOM_TRY(tables.stacks[gfx], parse_stack(row));
  }
  return tables;
}

Result<GpuTables> load_gpu_tables() {
  HEADROOM_TRY(GpuTables tables,
               parse_gpu_tables(embedded("gpus"), embedded("devices"), embedded("stacks")));
  HEADROOM_TRY(tables.knobs, load_knobs());
  return tables;
}

Support support_of(const Target& target) {
  if (target.rocm_first && !target.rocm_last) return Support::official;
  if (target.rocm_last) return Support::dropped;
  if (target.therock == TheRock::ready) return Support::community;
  // On an APU a near target's code is no answer: memory and firmware paths were never tried either.
  for (const auto& [value, risk] : target.overrides) {
    if (risk == Risk::low || (risk == Risk::medium && target.kind == Kind::discrete)) {
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

std::optional<Risk> override_risk(const Target& target, std::string_view value) {
  const auto parts = split(value, '.');
  if (parts.size() == 3) {
    const auto major = parse_u64(parts[0]);
    const auto minor = parse_u64(parts[1]);
    const auto step = parse_u64(parts[2]);
    const bool numbers = major && minor && step && *major < 64 && *minor < 16 && *step < 16;
    if (numbers && gfx_name(*major * 10000 + *minor * 100 + *step) == target.gfx) {
      return std::nullopt;
    }
  }
  const auto known = target.overrides.find(std::string(value));
  return known == target.overrides.end() ? Risk::dangerous : known->second;
}

std::optional<std::string> gfx_name(std::uint64_t version) {
  const std::uint64_t major = version / 10000;
  const std::uint64_t minor = version / 100 % 100;
  const std::uint64_t step = version % 100;
  if (major == 0 || major > 99 || minor > 15 || step > 15) return std::nullopt;
  return fmt::format("gfx{}{:x}{:x}", major, minor, step);
}

}  // namespace headroom::knowledge

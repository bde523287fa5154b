// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/text.h"
#include "facts/what_if.h"

namespace headroom::facts {
namespace {

constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

const std::vector<std::string>& names() {
  static const std::vector<std::string> all = {"ttm.pages_limit",
                                               "amdttm.pages_limit",
                                               "pages_limit",
                                               "amdgpu.gttsize",
                                               "gttsize",
                                               "carveout",
                                               "ram",
                                               "kernel",
                                               "reboot",
                                               "no_system_mem_limit",
                                               "amdgpu.no_system_mem_limit"};
  return all;
}

Error unknown_name(const std::string& word, const std::string& name) {
  const auto meant = nearest(name, names());
  return {Errc::invalid,
          fmt::format("--if {}: expected one of ttm.pages_limit, gttsize, carveout, ram, kernel, "
                      "no_system_mem_limit or reboot, found \"{}\"",
                      word, name),
          meant ? fmt::format("did you mean {}?", *meant) : "headroom check --help"};
}

Error wrong_value(const std::string& word, std::string_view expected) {
  return {Errc::invalid, fmt::format("--if {}: expected {}", word, expected),
          "headroom check --if ttm.pages_limit=96GiB"};
}

// A bare number counts in the parameter's own unit; with a unit it is what it says.
Result<SizeChange> parse_size(const std::string& word, std::string_view value,
                              std::uint64_t unit_bytes) {
  if (value == "default" || value == "auto" || value == "-1") return SizeChange{{}, true};
  if (const auto count = parse_u64(value)) {
    if (*count == 0 || *count > UINT64_MAX / unit_bytes) {
      return wrong_value(word, "a size above zero that fits into 64 bits");
    }
    return SizeChange{Bytes{*count * unit_bytes}, false};
  }
  const auto bytes = parse_bytes(value);
  if (!bytes || bytes->value == 0) {
    return wrong_value(word,
                       "a size such as 96GiB, a bare number in the parameter's own unit, or "
                       "default");
  }
  return SizeChange{*bytes, false};
}

Result<Bytes> parse_sized(const std::string& word, std::string_view value) {
  const auto bytes = parse_bytes(value);
  if (parse_u64(value) || !bytes) return wrong_value(word, "a size with its unit, such as 512MiB");
  return *bytes;
}

Status apply(const std::string& word, std::string_view name, std::string_view value,
             WhatIf& change) {
  if (name.ends_with("pages_limit")) {
    HEADROOM_TRY(change.pages_limit, parse_size(word, value, page_bytes));
  } else if (name.ends_with("gttsize")) {
    HEADROOM_TRY(change.gttsize, parse_size(word, value, mib));
  } else if (name == "carveout") {
    HEADROOM_TRY(change.carve_out, parse_sized(word, value));
  } else if (name == "ram") {
    HEADROOM_TRY(change.ram, parse_sized(word, value));
  } else if (name == "kernel") {
    change.kernel = parse_kernel_version(value);
    change.kernel_text = value;
    if (!change.kernel) return wrong_value(word, "a version such as 6.16.9");
  } else {
    const bool on = value == "1" || value == "Y" || value == "y";
    if (!on && value != "0" && value != "N" && value != "n") return wrong_value(word, "1 or 0");
    change.no_system_limit = on;
  }
  return Done{};
}

// "amdgpu.vm_size" for "vm_size", if a module of the GPU has it; empty for what none has.
std::string parameter_of_driver(const std::string& name, const knowledge::KnobTable* knobs) {
  if (knobs == nullptr) return "";
  for (const std::string_view of_memory :
       {"vramlimit", "vis_vramlimit", "apu_prefer_gtt", "dma32_pages_limit"}) {
    if (name.ends_with(of_memory)) return "";  // What it would bring is not computed here.
  }
  const std::size_t dot = name.find('.');
  if (dot != std::string::npos) {
    const std::string module = name.substr(0, dot);
    const bool known = knobs->has_module(module) && knobs->find(name) != nullptr;
    return known || knobs->exists(module, name.substr(dot + 1)) ? name : "";
  }
  for (const std::string_view module : {"amdgpu", "ttm", "amdttm"}) {
    std::string whole = std::string(module) + "." + name;
    if (knobs->exists(module, name) || knobs->find(whole) != nullptr) return whole;
  }
  return "";
}

}  // namespace

Result<WhatIf> parse_what_if(const std::vector<std::string>& words,
                             const knowledge::KnobTable* knobs) {
  WhatIf change;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    const std::string name = to_lower(trim(word.substr(0, equals)));
    const bool known = std::find(names().begin(), names().end(), name) != names().end();
    if (!known) {
      const std::string parameter = parameter_of_driver(name, knobs);
      if (parameter.empty()) return unknown_name(word, name);
      if (equals == std::string::npos) return wrong_value(word, name + "=VALUE");
      change.words.push_back(word);
      change.without_effect.push_back(parameter + word.substr(equals));
      continue;
    }
    change.words.push_back(word);
    if (name == "reboot") continue;
    if (equals == std::string::npos) return wrong_value(word, name + "=VALUE");
    HEADROOM_CHECK(apply(word, name, trim(std::string_view(word).substr(equals + 1)), change));
  }
  return change;
}

}  // namespace headroom::facts

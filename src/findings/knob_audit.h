// SPDX-License-Identifier: Apache-2.0
// The knob audit tells what each setting does, whether it helps on this machine, and what to do
// with it. Everything about a knob comes from data/knobs.toml; this code only draws conclusions
// from a knob's row, its value, the other settings and the machine.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "facts/facts.h"
#include "knowledge/gpu_tables.h"

namespace headroom::findings {

enum class KnobVerdict {
  keep,
  no_effect,
  contradictory,
  debugging,
  wrong_unit,
  unknown,
  deprecated,
  dangerous,
};

struct Judgement {
  facts::Setting setting;  // The setting, with its place.
  // The setting's name; for an allocator option "VARIABLE:option", whose judgement follows its
  // variable's.
  std::string name;
  std::string value;
  std::string does;  // Empty if no row describes it.
  KnobVerdict verdict = KnobVerdict::keep;
  std::string why;     // The reason for the verdict; may be empty if the setting is kept.
  std::string advice;  // "keep", or what to do.
  // NAME and VALUE after the advice is followed; nothing if the setting is removed.
  std::optional<std::pair<std::string, std::string>> remains;
  bool ours = true;  // Whether it is a knob, or meant as one. Other settings are left alone.

  bool is_option() const { return name.find(':') != std::string::npos; }
};

// Whether the setting is headroom's business and not right as it is.
bool should_change(const Judgement& one);

// Returns one judgement for each setting and each allocator option, in the order given.
std::vector<Judgement> audit_knobs(const std::vector<facts::Setting>& settings,
                                   const facts::Facts& facts, const knowledge::GpuTables& tables);

// Returns the settings as they should be, each in the form of its place: "export A=B" for a shell,
// "Environment=A=B" for a unit. Settings that are no knobs are not repeated.
std::vector<std::string> clean_lines(const std::vector<Judgement>& judged);

std::string_view to_string(KnobVerdict verdict);

}  // namespace headroom::findings

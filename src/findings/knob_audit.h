// SPDX-License-Identifier: Apache-2.0
// The knob audit: what each setting does, whether it helps on this machine, and what to do with it.
// Everything about a knob comes from data/knobs.toml; here is only what follows when a row meets a
// value, the other settings beside it, and this machine.
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
  facts::Setting setting;  // Where it stands.
  // The setting's name; of an allocator option "VARIABLE:option", which follows its variable's own.
  std::string name;
  std::string value;
  std::string does;  // Empty where no row describes it.
  KnobVerdict verdict = KnobVerdict::keep;
  std::string why;     // What made the verdict; may be empty where it is kept.
  std::string advice;  // "keep", or what to do.
  // What remains of it once the advice is followed: NAME and VALUE; nothing if it goes.
  std::optional<std::pair<std::string, std::string>> remains;
  bool ours = true;  // A knob, or meant as one. A setting of something else is left alone.

  bool is_option() const { return name.find(':') != std::string::npos; }
};

// One judgement per setting and per allocator option, in the order given.
std::vector<Judgement> audit_knobs(const std::vector<facts::Setting>& settings,
                                   const facts::Facts& facts, const knowledge::GpuTables& tables);

// The settings of `judged` as they should be, each in its own form: a shell's "export A=B", a
// unit's "Environment=A=B". Settings of something else are not repeated.
std::vector<std::string> clean_lines(const std::vector<Judgement>& judged);

std::string_view to_string(KnobVerdict verdict);

}  // namespace headroom::findings

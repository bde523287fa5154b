// SPDX-License-Identifier: Apache-2.0
// Judges a knob by this machine: whether the installed software reads it, whether it has any
// meaning for these GPUs, and whether an override suits them. Sentences are empty if there is
// nothing to say.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "facts/facts.h"
#include "knowledge/gpu_tables.h"

namespace headroom::findings {

class KnobContext {
 public:
  KnobContext(const facts::Facts& facts, const knowledge::GpuTables& tables);

  // If the knob is a parameter of a TTM that this machine's driver does not use, the module that it
  // does use.
  std::optional<std::string> module_in_use(const knowledge::Knob& knob) const;
  // Why the installed versions do not read the knob: they are from before it was added, or after it
  // was removed.
  std::string not_read_here(const knowledge::Knob& knob) const;
  // Why the knob has no meaning for these GPUs.
  std::string means_nothing_here(const knowledge::Knob& knob) const;
  // Why a setting of ROCm's software does nothing: none of the GPUs was ever supported.
  std::string without_rocm(const knowledge::Knob& knob) const;
  // Says that the knob is deprecated: "deprecated since torch 2.9; here is 2.10", if the versions
  // are known.
  std::string deprecated_here(const knowledge::Knob& knob) const;
  // Which versions the knob needs, if it is not known which are installed.
  std::string unsure(const knowledge::Knob& knob) const;
  // The same, as "PyTorch 2.12 and ROCm 7.0 or later"; empty if what is installed is known.
  std::string needed_versions(const knowledge::Knob& knob) const;

  struct Override {
    bool dangerous = false;
    bool needless = false;
    std::string why;
    std::string instead;  // What to do without it; empty: nothing else has to be done.
  };
  // Judges HSA_OVERRIDE_GFX_VERSION=`value` on these GPUs; nothing if no GPU's target is known. On
  // a GPU that ROCm never supported every override is dangerous.
  std::optional<Override> judge_override(const std::string& value) const;

  std::optional<std::size_t> gpu_count() const;

 private:
  // The same where it is not known what is installed: no PyTorch for these GPUs is new enough.
  std::string absent_from_older_stack(const knowledge::Knob& knob) const;

  const facts::Facts& facts_;
  const knowledge::GpuTables& tables_;
  std::map<std::string, std::string> versions_;  // Component → installed version.
};

}  // namespace headroom::findings

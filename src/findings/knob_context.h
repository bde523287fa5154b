// SPDX-License-Identifier: Apache-2.0
// What this machine says about a knob: whether the software that is installed reads it, whether it
// means anything with these GPUs, and how an override suits them. Sentences are empty where there
// is nothing to say.
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

  // Of a parameter of the TTM that this machine's driver does not use: the one that it uses.
  std::optional<std::string> module_in_use(const knowledge::Knob& knob) const;
  // Why the installed versions do not read it: before it came, or after it went.
  std::string not_read_here(const knowledge::Knob& knob) const;
  // Why it means nothing on these GPUs.
  std::string means_nothing_here(const knowledge::Knob& knob) const;
  // "deprecated since torch 2.9; here is 2.10", or that it is deprecated at all.
  std::string deprecated_here(const knowledge::Knob& knob) const;
  // Which versions it takes, where it is not known which are installed.
  std::string unsure(const knowledge::Knob& knob) const;

  struct Override {
    bool dangerous = false;
    bool needless = false;
    std::string why;
  };
  // Of HSA_OVERRIDE_GFX_VERSION=`value` on these GPUs; nothing where no GPU's target is known.
  std::optional<Override> judge_override(const std::string& value) const;

  std::optional<std::size_t> gpu_count() const;

 private:
  const facts::Facts& facts_;
  const knowledge::GpuTables& tables_;
  std::map<std::string, std::string> versions_;  // Component → what is installed.
};

}  // namespace headroom::findings

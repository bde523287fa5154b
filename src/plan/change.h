// SPDX-License-Identifier: Apache-2.0
// A change: what a fix would do to this machine, from the first step to the proof after the reboot.
// A value; nothing here acts.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "plan/step.h"

namespace headroom::plan {

// One limit as it should be once the change is in force.
struct PredictedRung {
  std::string gpu;   // PCI address.
  std::string rung;  // As in docs/check.md: "ttm", "pool", …
  Bytes limit;
  bool binding = false;
  bool at_most = false;  // It depends on what is free when the driver loads; the limit is a bound.
};

// What to look for after the reboot.
struct Forecast {
  std::vector<PredictedRung> rungs;
  // Module parameters by "module.key", as /sys/module says them.
  std::vector<std::pair<std::string, std::string>> parameters;
  std::string kernel;  // That was running when it was predicted; empty where unknown.
};

// What happens if the machine does not come up with the change.
enum class BootFallback {
  not_needed,     // No step touches what boots.
  next_boot,      // The old entry stays the default; the new one was chosen for one boot only.
  counted_boots,  // The boot loader counts failed boots and goes back to the old entry by itself.
  by_hand,        // Somebody has to choose the old entry, or undo from a rescue shell.
};

struct Change {
  std::string fix;                 // "ttm-cap".
  std::string title;               // "Let the GPU use 120.00 GiB of RAM".
  std::vector<std::string> words;  // The command line that made it, without --apply.
  std::vector<Step> steps;
  // Done by confirm once the reboot has brought what was predicted: a trial entry becomes the
  // permanent one, the unit that confirms is removed.
  std::vector<Step> on_confirm;
  std::vector<std::string> warnings;  // What the reader should know before applying.
  std::vector<std::string> notes;     // Why it is done this way; sentences.
  bool needs_reboot = false;
  // What the kernel command line of the boot that it is for has ("iommu=pt") and no longer has
  // (names): whether that boot came up at all.
  std::vector<std::string> boots_with;
  std::vector<std::string> boots_without;
  std::optional<Forecast> forecast;
  BootFallback fallback = BootFallback::not_needed;
  std::vector<std::string> rescue;  // How to get back by hand if the machine does not boot.
};

// In a line of Change::rescue it stands for the change's id, which only the journal knows.
inline constexpr std::string_view id_mark = "{id}";

// Whether only a person can do it.
bool is_instruction(const Step& step);
// Whether a step of the change can only be done by a person.
bool has_instruction(const Change& change);
// Whether nobody but a person can do any of it.
bool is_by_hand(const Change& change);

std::string_view to_string(BootFallback fallback);

}  // namespace headroom::plan

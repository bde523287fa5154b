// SPDX-License-Identifier: Apache-2.0
// The settings by which well-known services share out the processor: data/service_knobs.toml. The
// table says what may be varied; what is worth it, `headroom tune` measures.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "knowledge/origin.h"

namespace headroom::knowledge {

struct ServiceKnob {
  // What it decides: see TuneSetting::Role (deploy/spec.h), whose order this is.
  enum class Role : std::uint8_t { none, workers, threads, batch };
  std::string name;                  // A variable, or an option with its dashes.
  std::vector<std::string> aliases;  // Other spellings of the option.
  std::string of;                    // The program that has it, for people.
  std::vector<std::string> images;   // Parts of an image's name, one of which it has; or …
  std::vector<std::string> programs;  // … names of programs, one of which is a word of its command.
  Role role = Role::none;
  std::string default_value;        // "cores": as many as there are; empty: not known.
  std::vector<std::string> values;  // Empty: powers of two, by the role.
  Origin origin;

  bool is_option() const { return name.starts_with('-'); }
};

struct ServiceKnobs {
  std::vector<ServiceKnob> knobs;
};

// Fails with the table's line.
Result<ServiceKnobs> parse_service_knobs(std::string_view text);
// The embedded table. Fails only if it is wrong, which a test excludes.
Result<ServiceKnobs> load_service_knobs();

// Whether a service with this image (empty: none) and command (empty: the image's own) runs what
// the knob belongs to. An option needs the command: without it, it cannot be put into it.
bool runs(const ServiceKnob& knob, std::string_view image, const std::vector<std::string>& command);

}  // namespace headroom::knowledge

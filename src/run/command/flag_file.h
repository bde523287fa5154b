// SPDX-License-Identifier: Apache-2.0
// The configuration file that a training program's command names, as far as it decides the batch:
// values at its top level by their keys. YAML is read only so far: a key, a colon and a plain value
// on one line; what is nested is none of our business.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "knowledge/trainer_flags.h"
#include "supervisor/settings.h"

namespace headroom::run {

// `name` tells the form by its end: .json, .toml, else YAML. Nothing for what cannot be parsed.
std::optional<supervisor::FileValues> parse_flag_file(std::string_view name, std::string_view text);

// The file that the command names; nothing where it names none, or it cannot be read.
std::optional<supervisor::FileValues> read_flag_file(const knowledge::TrainerFlags& flags,
                                                     const std::vector<std::string>& argv);

}  // namespace headroom::run

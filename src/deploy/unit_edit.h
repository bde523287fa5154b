// SPDX-License-Identifier: Apache-2.0
// edit_text() and read_settings() of units and quadlets.
#pragma once

#include <string>
#include <string_view>

#include "deploy/edit.h"

namespace headroom::deploy {

Result<std::string> edit_unit(const EditTarget& target, std::string text, const TypedSet& set);
Result<Settings> read_unit(const EditTarget& target, std::string_view text);

// "8G", "512M", "1000": as systemd and Podman both read it.
std::string unit_size(Bytes bytes);

}  // namespace headroom::deploy

// SPDX-License-Identifier: Apache-2.0
// The entry of a trial boot in GRUB's custom.cfg, which people use as well: one marked block, that
// is put and taken without touching the rest.
#pragma once

#include <string>
#include <string_view>

#include "plan/boot/grub_menu.h"

namespace headroom::plan {

inline constexpr std::string_view trial_id = "headroom-trial";

// The entry with another body, as a marked block.
std::string make_trial_block(const MenuEntry& entry, std::string_view body);
// The text with that block at its end; a block that it has already goes.
std::string with_trial_block(std::string_view text, std::string_view block);
// The text without any such block, everything else byte for byte.
std::string without_trial_block(std::string_view text);

}  // namespace headroom::plan

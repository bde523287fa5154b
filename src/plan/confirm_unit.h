// SPDX-License-Identifier: Apache-2.0
// The systemd unit that compares, once after the next boot, what the machine has with what a change
// predicted: `headroom confirm --at-boot`. The change installs it, and confirm takes it away again.
#pragma once

#include <string>

#include "facts/boot_setup.h"
#include "plan/change.h"
#include "plan/fix.h"

namespace headroom::plan {

constexpr std::string_view confirm_unit_path = "/etc/systemd/system/headroom-confirm.service";
constexpr std::string_view confirm_unit_link =
    "/etc/systemd/system/multi-user.target.wants/headroom-confirm.service";

// What a person types after the reboot where no unit does it.
constexpr std::string_view confirm_by_hand = "sudo headroom confirm";

// The text of the unit.
std::string confirm_unit(const FixOptions& options);

// Adds the steps that install it and, to on_confirm, those that remove it. Where there is no
// systemd, or its units are not ours to write, it adds what a person has to type. Nothing is added
// to a change that needs no reboot or predicts nothing. Call it last: its steps come after those
// that the reboot is for.
void add_confirm_unit(Change& change, const facts::BootSetup& boot, const FixOptions& options);

}  // namespace headroom::plan

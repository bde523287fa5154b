// SPDX-License-Identifier: Apache-2.0
// What supervised commands take from the history and leave there. Where it cannot be read or
// written they say so and go on.
#pragma once

#include <optional>

#include "cli/commands.h"
#include "supervisor/past_command.h"

namespace headroom::cli {

// The settings that the last run of this command ended with, if it had to shrink to them.
std::optional<supervisor::LearnedSettings> look_up_command(const supervisor::CommandKey& key,
                                                           const Context& context);

// The settings to begin with, and a word on why; nothing: those that the command has. Where
// settings were `given` they hold, and the word says what was learned.
std::optional<supervisor::Settings> begin_from(
    const std::optional<supervisor::LearnedSettings>& learned,
    const supervisor::Settings& of_command, const supervisor::Settings& given, bool quiet,
    const Context& context);

// Adds every attempt of the run.
void remember_command(const supervisor::RunReport& report, const supervisor::CommandKey& key,
                      const Context& context);

}  // namespace headroom::cli

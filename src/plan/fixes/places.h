// SPDX-License-Identifier: Apache-2.0
// What several fixes ask of a path: whose it is, and which service it configures; and the steps
// that drop-ins of systemd take.
#pragma once

#include <optional>
#include <string>

#include "plan/fix.h"

namespace headroom::plan {

// The administrator's or the user's; not a package's, and not part of a read-only image.
bool is_editable(std::string_view path);
// In the home folder of the user who asked, or what it is a link to where /home is one.
bool is_in_home(const FixOptions& options, std::string_view path);
// Whether changing it takes more than the rights of the user who asked.
bool needs_root(const FixOptions& options, std::string_view path);
// The unit that a unit file, a quadlet or a drop-in of one configures: "ollama.service".
std::optional<std::string> service_of(std::string_view path);

// The file as it was read; nullptr where it is not there, or was not looked for.
const facts::ConfigFile* setting_file(const FixSubject& subject, std::string_view path);

// Adds a line to headroom's own drop-in of a unit of the system; it sorts behind all others, so
// that it wins. `what` and `why` are left to the caller.
Step add_to_drop_in(const FixSubject& subject, const std::string& unit, std::string_view section,
                    const std::string& line);
// The same of one of the user's own units.
Step add_to_user_drop_in(const FixSubject& subject, const std::string& unit,
                         std::string_view section, const std::string& line);

// "systemctl daemon-reload", or a note where there is no systemctl.
void add_daemon_reload(const FixSubject& subject, Change& change);

// What only a person does. Below a first line that ends with a colon stands what is to be saved or
// pasted as it is.
Step by_hand(std::string text);
// Whether a step of it changes anything here; a text for a person does not.
bool acts(const Result<Change>& change);

// After a reboot whose steps are in `change`: memory limits stay what they are, which the unit that
// confirms looks at. Where no limit can be predicted, confirming is left to a person.
void expect_the_same(const FixSubject& subject, Change& change);

// "check does not find ID here", with the next command.
Error not_needed(std::string_view id, std::string message);

}  // namespace headroom::plan

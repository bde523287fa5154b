// SPDX-License-Identifier: Apache-2.0
// What a fix would do, before anything is done: `headroom fix ID` without --apply.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "facts/facts.h"
#include "plan/change.h"
#include "report/style.h"

namespace headroom::report {

// The limits now and after the reboot, every step with its diff or command, what happens if the
// machine does not come up, and what to type next.
std::string to_text(const plan::Change& change, const facts::Facts& now, const Style& style);

// How to get back without this change, as sentences; `id` is the change's in the journal, or what
// stands for it while it has none.
std::vector<std::string> ways_back(const plan::Change& change, const std::string& id);

// The same for a change that is made by hand: what the journal would hold does not exist then.
std::vector<std::string> ways_back_without_journal(const plan::Change& change);

// One of a change's notes. Below its first line stand commands to be pasted, each whole.
std::string note_text(std::string_view note, const Style& style);

// One of its warnings, `before` the mark. Below its first line stand sentences, and commands, which
// are indented and each whole.
std::string warning_text(std::string_view warning, std::string_view before, const Style& style);

// "sudo headroom fix ttm-cap --size 120GiB --apply".
std::string apply_command(const plan::Change& change);

}  // namespace headroom::report

// SPDX-License-Identifier: Apache-2.0
// Messages of which no rule knows more than the message itself: data/messages.toml names the causes
// that each can have. A message that several causes share never makes an answer sure, and the
// answer names the others.
#pragma once

#include <optional>

#include "findings/causes/cause_rule.h"

namespace headroom::findings {

// What the messages of the log say for the rule's cause; the surest of them counts.
std::optional<Hypothesis> find_message(const LogSubject& subject, const CauseRule& rule);

}  // namespace headroom::findings

// SPDX-License-Identifier: Apache-2.0
// One line of a .jsonl file: a text, a prompt with its completion, or a conversation, under the
// keys that Hugging Face's TRL reads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace headroom::tokens {

enum class Role : std::uint8_t { system, user, assistant };

struct Message {
  Role role = Role::user;
  std::string content;
  bool learned = false;  // Whether the model is to learn to say it.
};

struct Record {
  enum class Kind : std::uint8_t { text, completion, conversation };
  Kind kind = Kind::text;
  std::string text;        // Or the prompt.
  std::string completion;  // Which is learned.
  std::vector<Message> messages;
};

// {"messages": […]}, else {"prompt": …, "completion": …}, each a text or a list of messages, else
// {"text": …}; other keys are left alone. Of a conversation all answers are learned, with a prompt
// those of the completion. Fails (invalid) with what was expected and what was found.
Result<Record> parse_record(std::string_view line);

}  // namespace headroom::tokens

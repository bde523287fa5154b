// SPDX-License-Identifier: Apache-2.0
// Conversations as the text that a family of models was trained on: what its chat template writes.
// The templates of models are programs (Jinja); these are the common ones by name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokens/record.h"
#include "tokens/text_encoder.h"

namespace headroom::tokens {

enum class ChatTemplate : std::uint8_t { chatml, llama3, gemma, mistral, plain };

std::string_view to_string(ChatTemplate chat_template);
// Nothing if no template has the name.
std::optional<ChatTemplate> find_template(std::string_view name);

// By the tokens that only one family has; plain if there are none of them.
ChatTemplate recognise_template(const TextEncoder& encoder);

// What is only read, and the answer to it that is learned. A conversation is one after the other.
// The last may have no answer.
struct Exchange {
  std::string prompt, answer;
  bool ends = false;  // Whether the encoder's end of text follows the answer.
};
std::vector<Exchange> render(const std::vector<Message>& messages, ChatTemplate chat_template,
                             const TextEncoder& encoder);

}  // namespace headroom::tokens

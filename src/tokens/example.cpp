// SPDX-License-Identifier: Apache-2.0
#include "tokens/example.h"

#include <algorithm>

namespace headroom::tokens {
namespace {

void end_text(const TextEncoder& encoder, std::vector<Id>& tokens) {
  const auto end = encoder.end_of_text();
  if (end && (tokens.empty() || tokens.back() != *end)) tokens.push_back(*end);
}

// Appends prompt and answer, encoded as the one text that they are. Where a token holds the end of
// the prompt and the beginning of the answer, it is learned, and so is what differs before it.
Status add_exchange(const Exchange& exchange, Around around, TextEncoder& encoder,
                    std::vector<Id>& tokens) {
  std::vector<Id> prompt, both;
  HEADROOM_CHECK(encoder.encode(exchange.prompt, around, prompt));
  if (exchange.answer.empty()) {
    both = prompt;
  } else {
    HEADROOM_CHECK(encoder.encode(exchange.prompt + exchange.answer, around, both));
  }
  const auto same = std::mismatch(prompt.begin(), prompt.end(), both.begin(), both.end()).second;
  for (auto id = both.begin(); id != both.end(); ++id)
    tokens.push_back(id < same ? only_read(*id) : *id);
  if (exchange.ends) end_text(encoder, tokens);
  return Done{};
}

}  // namespace

std::size_t count_targets(const std::vector<Id>& tokens) {
  if (tokens.empty()) return 0;
  return static_cast<std::size_t>(std::count_if(tokens.begin() + 1, tokens.end(), is_learned));
}

Result<std::vector<Id>> make_example(const Record& record, ChatTemplate chat_template,
                                     TextEncoder& encoder) {
  std::vector<Id> tokens;
  if (record.kind == Record::Kind::text) {
    HEADROOM_CHECK(encoder.encode(record.text, Around::special_tokens, tokens));
    end_text(encoder, tokens);
  } else if (record.kind == Record::Kind::completion) {
    HEADROOM_CHECK(add_exchange({record.text, record.completion, true}, Around::special_tokens,
                                encoder, tokens));
  } else {
    Around around = Around::nothing;
    for (const Exchange& exchange : render(record.messages, chat_template, encoder)) {
      HEADROOM_CHECK(add_exchange(exchange, around, encoder, tokens));
      around = Around::text_before;
    }
  }
  return tokens;
}

}  // namespace headroom::tokens

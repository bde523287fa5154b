// SPDX-License-Identifier: Apache-2.0
// One line of training data as tokens, each of them to be learned or only to be read: answers are
// learned, what they answer is not.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokens/chat.h"
#include "tokens/record.h"
#include "tokens/text_encoder.h"

namespace headroom::tokens {

// A token of an example is its id if it is learned, and the id's complement, which is below 0, if
// it is only read.
constexpr Id only_read(Id id) {
  return ~id;
}
constexpr bool is_learned(Id token) {
  return token >= 0;
}
constexpr Id id_of(Id token) {
  return token < 0 ? ~token : token;
}

// How many tokens are to be predicted: those that are learned, except for the first of all.
std::size_t count_targets(const std::vector<Id>& tokens);

// The tokens of a record. A text and a completion end with the encoder's end of text, if it has
// one. Fails where the encoder or the template does.
Result<std::vector<Id>> make_example(const Record& record, ChatTemplate chat_template,
                                     TextEncoder& encoder);

}  // namespace headroom::tokens

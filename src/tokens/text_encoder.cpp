// SPDX-License-Identifier: Apache-2.0
#include "tokens/text_encoder.h"

#include <fmt/format.h>

namespace headroom::tokens {

Status ByteEncoder::encode(std::string_view text, Around /*around*/, std::vector<Id>& ids) {
  ids.reserve(ids.size() + text.size());
  for (const char byte : text) ids.push_back(static_cast<unsigned char>(byte));
  return Done{};
}

std::string ByteEncoder::shown(Id id) const {
  return id == end_ ? "the end of a text" : fmt::format("the byte 0x{:02X}", id);
}

std::string TokenEncoder::shown(Id id) const {
  return tokenizer_.token(id).value_or("no token");
}

}  // namespace headroom::tokens

// SPDX-License-Identifier: Apache-2.0
#include "tokens/vocabulary.h"

#include <utility>

namespace headroom::tokens {

void Vocabulary::add(std::string token, Id id) {
  const auto place = static_cast<std::size_t>(id);
  const auto entry = ids_.insert_or_assign(std::move(token), id).first;
  if (tokens_.size() <= place) tokens_.resize(place + 1, nullptr);
  tokens_[place] = &entry->first;
}

const std::string* Vocabulary::token(Id id) const {
  const auto place = static_cast<std::size_t>(id);
  return id >= 0 && place < tokens_.size() ? tokens_[place] : nullptr;
}

}  // namespace headroom::tokens

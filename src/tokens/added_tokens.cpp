// SPDX-License-Identifier: Apache-2.0
#include "tokens/added_tokens.h"

#include <algorithm>

#include "tokens/characters.h"

namespace headroom::tokens {
namespace {

std::uint64_t edge(std::uint32_t node, char byte) {
  return (std::uint64_t{node} << 8U) | static_cast<unsigned char>(byte);
}

bool ends_in_word(std::string_view text) {
  std::size_t length = 0;
  return !text.empty() && is_word(last_character(text, length));
}

bool begins_with_word(std::string_view text) {
  std::size_t at = 0;
  return !text.empty() && is_word(take_character(text, at));
}

}  // namespace

void AddedTokenFinder::add(const AddedToken& token) {
  std::uint32_t node = 0;
  for (const char byte : token.found_as) {
    const auto fresh = static_cast<std::uint32_t>(token_of_node_.size());
    const auto [place, is_new] = next_.emplace(edge(node, byte), fresh);
    if (is_new) token_of_node_.push_back(none);
    node = place->second;
  }
  begins_[static_cast<unsigned char>(token.found_as[0])] = true;
  if (token_of_node_[node] == none) {
    token_of_node_[node] = static_cast<std::uint32_t>(tokens_.size());
    tokens_.push_back(token);
  }
}

std::uint32_t AddedTokenFinder::longest_at(std::string_view text, std::size_t begin,
                                           std::size_t& length) const {
  std::uint32_t found = none;
  std::uint32_t node = 0;
  for (std::size_t at = begin; at < text.size(); ++at) {
    const auto step = next_.find(edge(node, text[at]));
    if (step == next_.end()) break;
    node = step->second;
    if (token_of_node_[node] == none) continue;
    found = token_of_node_[node];
    length = at + 1 - begin;
  }
  return found;
}

std::size_t AddedTokenFinder::length_at(std::string_view text) const {
  std::size_t length = 0;
  return !text.empty() && longest_at(text, 0, length) != none ? length : 0;
}

std::vector<TextPart> AddedTokenFinder::find(std::string_view text) const {
  std::vector<TextPart> parts;
  std::size_t behind = 0;  // The end of the last token.
  for (std::size_t at = 0; at < text.size();) {
    std::size_t length = 0;
    std::uint32_t found = none;
    if (begins_[static_cast<unsigned char>(text[at])]) found = longest_at(text, at, length);
    if (found == none) {
      ++at;
      continue;
    }
    const AddedToken& token = tokens_[found];
    std::size_t begin = at;
    std::size_t end = at + length;
    at = end;
    if (token.single_word &&
        (ends_in_word(text.substr(0, begin)) || begins_with_word(text.substr(end))))
      continue;
    if (token.strips_left)
      begin = std::max(without_white_space_behind(text.substr(0, begin)).size(), behind);
    if (token.strips_right) end = text.size() - without_white_space_before(text.substr(end)).size();
    if (behind < begin) parts.push_back({{behind, begin}, -1});
    parts.push_back({{begin, end}, token.id});
    behind = end;
  }
  if (behind < text.size()) parts.push_back({{behind, text.size()}, -1});
  return parts;
}

}  // namespace headroom::tokens

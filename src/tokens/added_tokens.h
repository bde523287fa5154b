// SPDX-License-Identifier: Apache-2.0
// Tokens that are found in a text before it is cut into words: <|im_end|>, <s>, runs of blanks. The
// leftmost counts, and of those that begin there the longest; the rules are those of Hugging Face's
// tokenizers (AddedVocabulary).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tokens/merges.h"
#include "tokens/pattern.h"

namespace headroom::tokens {

struct AddedToken {
  Id id = -1;
  std::string content = {};
  std::string found_as = {};  // What is looked for: the content, normalised if `normalized`.
  bool single_word = false;   // Only where no character of a word stands beside it.
  bool strips_left = false, strips_right = false;  // Takes in the white space beside it.
  bool normalized = true;                          // Is looked for in the normalised text.
  bool special = false;                            // Steers the model, and is no text.
};

// A part of a text: a token, or text between two.
struct TextPart {
  Span span;
  Id id = -1;  // −1: text.
};

class AddedTokenFinder {
 public:
  // Requires: token.found_as is not empty, and fewer than 2^31 bytes are added in all.
  void add(const AddedToken& token);
  bool empty() const { return tokens_.empty(); }

  // The parts in order; text parts are not empty. A token that strips may reach into the next one.
  std::vector<TextPart> find(std::string_view text) const;
  // Bytes of the longest token that `text` begins with; 0: none.
  std::size_t length_at(std::string_view text) const;

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  // The token that begins at `begin`, and its length; `none`: there is none.
  std::uint32_t longest_at(std::string_view text, std::size_t begin, std::size_t& length) const;

  std::vector<AddedToken> tokens_;
  // A tree of bytes: (node, byte) → node. Node 0 is the root.
  std::unordered_map<std::uint64_t, std::uint32_t> next_;
  std::vector<std::uint32_t> token_of_node_ = {none};
  std::vector<bool> begins_ = std::vector<bool>(256, false);
};

}  // namespace headroom::tokens

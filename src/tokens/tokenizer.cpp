// SPDX-License-Identifier: Apache-2.0
#include "tokens/tokenizer.h"

#include "base/encoding.h"
#include "base/text.h"

namespace headroom::tokens {

std::optional<Id> Tokenizer::find(std::string_view token) const {
  if (const auto added = find_added(token)) return added;
  return bpe_.vocabulary().find(token);
}

std::optional<Id> Tokenizer::find_added(std::string_view token) const {
  const auto found = added_by_content_.find(std::string(token));
  if (found == added_by_content_.end()) return std::nullopt;
  return added_[found->second].id;
}

std::optional<std::string> Tokenizer::token(Id id) const {
  const auto found = added_by_id_.find(id);
  if (found != added_by_id_.end()) return added_[found->second].content;
  const std::string* token = bpe_.vocabulary().token(id);
  return token == nullptr ? std::nullopt : std::optional(*token);
}

Status Tokenizer::encode(std::string_view text, Around around, std::vector<Id>& ids) {
  if (!is_utf8(text))
    return Error{Errc::invalid, "expected text in UTF-8, found bytes that are none",
                 "convert the file: iconv -f LATIN1 -t UTF-8 FILE, with the encoding that it has"};
  if (around == Around::special_tokens || around == Around::beginning)
    ids.insert(ids.end(), surroundings_.before.begin(), surroundings_.before.end());
  for (const TextPart& part : plain_.find(text)) {
    if (part.id >= 0) {
      ids.push_back(part.id);
      continue;
    }
    const std::string_view piece = text.substr(part.span.begin, part.span.end - part.span.begin);
    const bool at_start = part.span.begin == 0 && around != Around::text_before;
    HEADROOM_CHECK(encode_text(piece, at_start, ids));
  }
  if (around == Around::special_tokens)
    ids.insert(ids.end(), surroundings_.behind.begin(), surroundings_.behind.end());
  return Done{};
}

// Text between two of the tokens that are looked for before normalisation.
Status Tokenizer::encode_text(std::string_view text, bool at_start, std::vector<Id>& ids) {
  std::string normal(text);
  if (normalizer_) HEADROOM_CHECK(normalizer_->apply(normal));
  if (normalised_.empty()) return encode_words(std::move(normal), at_start, ids);
  for (const TextPart& part : normalised_.find(normal)) {
    if (part.id >= 0) {
      ids.push_back(part.id);
      continue;
    }
    HEADROOM_CHECK(encode_words(normal.substr(part.span.begin, part.span.end - part.span.begin),
                                at_start && part.span.begin == 0, ids));
  }
  return Done{};
}

Status Tokenizer::encode_words(std::string text, bool at_start, std::vector<Id>& ids) {
  if (text.empty()) return Done{};
  const std::size_t size = text.size();
  Pieces pieces{std::move(text), {{0, size}}, at_start};
  if (pre_tokenizer_) HEADROOM_CHECK(pre_tokenizer_->apply(pieces));
  for (const Span& span : pieces.spans) bpe_.encode(pieces.at(span), ids);
  return Done{};
}

Result<std::string> Tokenizer::decode(const std::vector<Id>& ids, bool skips_special) const {
  std::vector<std::string> texts;
  for (const Id id : ids) {
    const auto added = added_by_id_.find(id);
    if (added != added_by_id_.end()) {
      const AddedToken& token = added_[added->second];
      if (!skips_special || !token.special || token.found_as != token.content)
        texts.push_back(token.found_as);
    } else if (auto text = token(id)) {
      texts.push_back(*std::move(text));
    }
  }
  if (!decoder_) return join(texts, " ");
  HEADROOM_CHECK(decoder_->apply(texts));
  return join(texts, "");
}

}  // namespace headroom::tokens

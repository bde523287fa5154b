// SPDX-License-Identifier: Apache-2.0
#include "tokens/sentencepiece/piece_normalizer.h"

#include "base/encoding.h"

namespace headroom::tokens {
namespace {

constexpr std::string_view escaped_blank = "\xe2\x96\x81";  // U+2581.

}  // namespace

Result<PieceNormalizer> PieceNormalizer::make(const PieceModel& model) {
  PieceNormalizer normalizer;
  HEADROOM_TRY(normalizer.map_, CharacterMap::parse(model.character_map));
  for (const Piece& piece : model.pieces) {
    if (piece.kind != Piece::Kind::user_defined) continue;
    normalizer.kept_.add({.id = 0, .content = piece.text, .found_as = piece.text});
    normalizer.has_kept_ = true;
  }
  normalizer.adds_prefix_ = model.adds_prefix;
  normalizer.removes_extra_blanks_ = model.removes_extra_blanks;
  normalizer.blank_ = model.escapes_blanks ? escaped_blank : " ";
  return normalizer;
}

// What stands at the beginning of the text, and what it becomes.
PieceNormalizer::Taken PieceNormalizer::take(std::string_view text) const {
  if (has_kept_) {
    const std::size_t length = kept_.length_at(text);
    if (length > 0) return {length, text.substr(0, length)};
  }
  if (const auto match = map_.longest(text)) return {match->length, match->text};
  const std::size_t length = first_code_point(text).length;
  return {length, text.substr(0, length)};
}

void PieceNormalizer::append(std::string_view text, std::string& normal) const {
  for (const char byte : text) {
    if (byte == ' ') {
      normal += blank_;
    } else {
      normal += byte;
    }
  }
}

Result<std::string> PieceNormalizer::apply(std::string_view text, Before before) const {
  std::string normal;
  const bool drops_blanks = removes_extra_blanks_ && before != Before::text &&
                            (before == Before::nothing || !text.starts_with(' '));
  if (drops_blanks) {
    for (Taken taken; !text.empty(); text.remove_prefix(taken.length)) {
      taken = take(text);
      if (taken.text != " ") break;
    }
  }
  if (text.empty()) return normal;
  normal.reserve(text.size() + text.size() / 2 + blank_.size());
  if (adds_prefix_ && before == Before::nothing) normal += blank_;
  bool after_blank = drops_blanks;
  while (!text.empty()) {
    const Taken taken = take(text);
    std::string_view part = taken.text;
    while (after_blank && part.starts_with(' ')) part.remove_prefix(1);
    if (!part.empty()) {
      append(part, normal);
      after_blank = removes_extra_blanks_ && part.ends_with(' ');
    }
    text.remove_prefix(taken.length);
  }
  if (removes_extra_blanks_)
    while (normal.ends_with(blank_)) normal.resize(normal.size() - blank_.size());
  if (!is_utf8(normal))
    return Error{Errc::invalid,
                 "expected a precompiled_charsmap that gives text in UTF-8, found one that does "
                 "not",
                 "use the tokenizer.model that came with the model"};
  return normal;
}

}  // namespace headroom::tokens

// SPDX-License-Identifier: Apache-2.0
#include "tokens/sentencepiece/piece_encoder.h"

#include <algorithm>

#include "base/encoding.h"

namespace headroom::tokens {

void PieceEncoder::add_token(AddedToken token) {
  if (ids_.contains(token.content)) return;
  if (token.id < 0) {
    const auto piece = piece_ids_.find(token.content);
    token.id = piece == piece_ids_.end() ? next_ : piece->second;
  }
  next_ = std::max(next_, token.id + 1);
  ids_.emplace(token.content, token.id);
  contents_.emplace(token.id, token.content);
  added_.add(token);
}

// Those of the files, then the model's own control pieces, which transformers finds in any text.
void PieceEncoder::add_tokens(const PieceModel& model, const TokenSettings& settings) {
  for (std::size_t id = 0; id < model.pieces.size(); ++id)
    piece_ids_.emplace(model.pieces[id].text, static_cast<Id>(id));
  next_ = static_cast<Id>(model.pieces.size());
  for (const AddedToken& token : settings.added)
    if (token.id >= 0) add_token(token);
  for (const AddedToken& token : settings.added)
    if (token.id < 0) add_token(token);
  for (const Piece& piece : model.pieces)
    if (piece.kind == Piece::Kind::control || piece.kind == Piece::Kind::unknown)
      add_token(
          {.content = piece.text, .found_as = piece.text, .normalized = false, .special = true});
  for (const Piece& piece : model.pieces)
    if (piece.kind == Piece::Kind::user_defined)
      ids_.emplace(piece.text, piece_ids_.at(piece.text));
}

std::optional<Id> PieceEncoder::find(const std::optional<std::string>& token) const {
  if (!token) return std::nullopt;
  const auto found = ids_.find(*token);
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

Result<PieceEncoder> PieceEncoder::make(std::string_view model_bytes, const std::string& name,
                                        const SettingsFiles& files, std::optional<Id> end) {
  HEADROOM_TRY(PieceModel model, parse_piece_model(model_bytes, name));
  HEADROOM_TRY(const TokenSettings settings, read_token_settings(files));
  model.adds_prefix = model.adds_prefix && settings.adds_prefix;
  PieceEncoder encoder;
  auto normalizer = PieceNormalizer::make(model);
  if (!normalizer) return std::move(normalizer.error()).in(name);
  encoder.normalizer_ = *std::move(normalizer);
  if (model.kind == PieceModel::Kind::unigram) {
    encoder.cutter_ = Unigram(model);
  } else {
    auto merges = PieceMerges::make(model);
    if (!merges) return std::move(merges.error()).in(name);
    encoder.cutter_ = std::make_unique<PieceMerges>(*std::move(merges));
  }
  encoder.add_tokens(model, settings);
  encoder.prefixes_parts_ = settings.prefixes_parts;
  encoder.ends_once_ = settings.ends_once;
  const auto begin_id = settings.begin ? encoder.find(settings.begin) : model.begin_id;
  const auto named_end = encoder.find(settings.end);
  const auto end_id = settings.end ? named_end : model.end_id;
  if (settings.adds_begin) encoder.before_ = begin_id;
  if (settings.adds_end) encoder.behind_ = end_id;
  encoder.end_ = named_end ? named_end : end ? end : model.end_id;
  encoder.pieces_ = std::move(model.pieces);
  return encoder;
}

bool PieceEncoder::has_added(std::string_view token) const {
  return ids_.contains(std::string(token));
}

std::string PieceEncoder::shown(Id id) const {
  if (const auto added = contents_.find(id); added != contents_.end()) return added->second;
  const auto place = static_cast<std::size_t>(id);
  return id >= 0 && place < pieces_.size() ? pieces_[place].text : "no token";
}

Status PieceEncoder::encode(std::string_view text, Around around, std::vector<Id>& ids) {
  if (!is_utf8(text))
    return Error{Errc::invalid, "expected text in UTF-8, found bytes that are none",
                 "convert the file: iconv -f LATIN1 -t UTF-8 FILE, with the encoding that it has"};
  if ((around == Around::special_tokens || around == Around::beginning) && before_)
    ids.push_back(*before_);
  for (const TextPart& part : added_.find(text)) {
    if (part.id >= 0) {
      ids.push_back(part.id);
      continue;
    }
    const Before before = part.span.begin > 0 ? (prefixes_parts_ ? Before::nothing : Before::token)
                          : around == Around::text_before ? Before::text
                                                          : Before::nothing;
    HEADROOM_CHECK(
        encode_text(text.substr(part.span.begin, part.span.end - part.span.begin), before, ids));
  }
  if (around != Around::special_tokens || !behind_) return Done{};
  if (!ends_once_ || ids.empty() || ids.back() != *behind_) ids.push_back(*behind_);
  return Done{};
}

Status PieceEncoder::encode_text(std::string_view text, Before before, std::vector<Id>& ids) {
  HEADROOM_TRY(const std::string normal, normalizer_.apply(text, before));
  if (auto* merges = std::get_if<std::unique_ptr<PieceMerges>>(&cutter_)) {
    (*merges)->encode(normal, ids);
  } else {
    std::get<Unigram>(cutter_).encode(normal, ids);
  }
  return Done{};
}

}  // namespace headroom::tokens

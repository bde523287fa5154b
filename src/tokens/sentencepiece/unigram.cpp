// SPDX-License-Identifier: Apache-2.0
#include "tokens/sentencepiece/unigram.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/encoding.h"

namespace headroom::tokens {
namespace {

// So high that it is taken nearly always.
float score_of_user_defined(std::size_t length) {
  return static_cast<float>(0.1 * static_cast<double>(length - 1));
}

}  // namespace

Unigram::Unigram(const PieceModel& model) : unknown_(model.unknown) {
  constexpr float penalty = 10;  // Of an unknown character, below the lowest score.
  float lowest = std::numeric_limits<float>::max();
  std::vector<std::pair<std::string_view, Id>> found_in_text;
  if (model.byte_fallback) bytes_.resize(256, -1);
  for (const Piece& piece : model.pieces) {
    const auto id = static_cast<Id>(kinds_.size());
    kinds_.push_back(piece.kind);
    scores_.push_back(piece.score);
    if (piece.kind == Piece::Kind::normal) lowest = std::min(lowest, piece.score);
    if (piece.kind == Piece::Kind::normal || piece.kind == Piece::Kind::user_defined ||
        piece.kind == Piece::Kind::unused)
      found_in_text.emplace_back(piece.text, id);
    if (piece.kind == Piece::Kind::byte) bytes_[byte_of_piece(piece.text).value_or(0)] = id;
  }
  unknown_score_ = lowest - penalty;
  tree_ = PieceTree(std::move(found_in_text));
}

// Sums that have grown too large for their precision begin anew: what counts are differences.
void Unigram::keep_small(std::size_t begin) {
  constexpr float too_large = 100000;
  const float so_far = best_[begin].score;
  if (std::abs(so_far) <= too_large) return;
  best_[begin].score = 0;
  for (std::size_t end = begin + 1; end <= frontier_; ++end)
    if (best_[end].begin >= 0) best_[end].score -= so_far;
}

// Lengthens the best way up to `begin`, where a character of `length` bytes stands, by every piece
// that begins there.
void Unigram::extend(std::string_view text, std::size_t begin, std::size_t length) {
  keep_small(begin);
  const float so_far = best_[begin].score;
  const auto offer = [&](std::size_t end, float of_piece, Id piece) {
    frontier_ = std::max(frontier_, end);
    const float score = of_piece + so_far;
    Best& best = best_[end];
    if (best.begin < 0 || score > best.score)
      best = {piece, score, static_cast<std::int32_t>(begin)};
  };
  bool has_character = false;
  auto node = std::optional(PieceTree::root);
  for (std::size_t end = begin; end < text.size();) {
    node = tree_.step(*node, text[end]);
    if (!node) break;
    ++end;
    const Id piece = tree_.piece(*node);
    if (piece < 0) continue;
    const auto id = static_cast<std::size_t>(piece);
    if (kinds_[id] == Piece::Kind::unused) continue;
    const bool is_user_defined = kinds_[id] == Piece::Kind::user_defined;
    offer(end, is_user_defined ? score_of_user_defined(end - begin) : scores_[id], piece);
    if (end - begin == length) has_character = true;
  }
  if (!has_character) offer(begin + length, unknown_score_, unknown_);
}

void Unigram::append(std::string_view text, Id piece, std::vector<Id>& ids) const {
  if (piece != unknown_ || bytes_.empty()) {
    ids.push_back(piece);
    return;
  }
  for (const char byte : text) ids.push_back(bytes_[static_cast<unsigned char>(byte)]);
}

void Unigram::encode(std::string_view text, std::vector<Id>& ids) {
  if (text.empty()) return;
  best_.assign(text.size() + 1, {});
  frontier_ = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = first_code_point(text.substr(at)).length;
    extend(text, at, length);
    at += length;
  }
  std::vector<std::size_t> ends;  // From the last to the first.
  for (std::size_t end = text.size(); end > 0; end = static_cast<std::size_t>(best_[end].begin))
    ends.push_back(end);
  bool after_unknown = false;
  for (auto end = ends.rbegin(); end != ends.rend(); ++end) {
    const Best& best = best_[*end];
    const auto begin = static_cast<std::size_t>(best.begin);
    const bool is_unknown = best.piece == unknown_;
    if (!(is_unknown && after_unknown && bytes_.empty()))
      append(text.substr(begin, *end - begin), best.piece, ids);
    after_unknown = is_unknown;
  }
}

}  // namespace headroom::tokens

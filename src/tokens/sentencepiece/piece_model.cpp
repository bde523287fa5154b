// SPDX-License-Identifier: Apache-2.0
#include "tokens/sentencepiece/piece_model.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <set>

#include "base/printable.h"
#include "tokens/sentencepiece/wire.h"

namespace headroom::tokens {
namespace {

// Some eight times what trainers make, and it bounds the merges of a piece.
constexpr std::size_t longest_piece = 512;
constexpr const char* own_file = "use the tokenizer.model that came with the model";
constexpr const char* by_itself =
    "tokenise the data with the model's own tokenizer and write kind = \"tokens\"";

Error wrong(std::string message) {
  return {Errc::invalid, std::move(message), own_file};
}

std::string shown(std::string_view text) {
  constexpr std::size_t enough = 60;
  return printable(text.substr(0, enough));
}

// Calls `read` with every field of a message. A field of another type than it should have is a
// field that nobody knows, as protobuf has it.
template <class Read>
Status for_each_field(std::string_view message, const Read& read) {
  WireReader reader(message);
  WireField field;
  for (;;) {
    HEADROOM_TRY(const bool more, reader.next(field));
    if (!more) return Done{};
    HEADROOM_CHECK(read(field));
  }
}

bool is(const WireField& field, std::uint64_t number, WireType type) {
  return field.number == number && field.type == type;
}

Result<Piece> parse_piece(std::string_view message) {
  Piece piece;
  HEADROOM_CHECK(for_each_field(message, [&](const WireField& field) -> Status {
    if (is(field, 1, WireType::bytes)) piece.text = field.bytes;
    if (is(field, 2, WireType::fixed32))
      piece.score = std::bit_cast<float>(static_cast<std::uint32_t>(field.value));
    if (!is(field, 3, WireType::varint)) return Done{};
    if (field.value >= 1 && field.value <= 6) piece.kind = static_cast<Piece::Kind>(field.value);
    return Done{};
  }));
  return piece;
}

// A number of 32 bits with a sign, which is written as one of 64.
std::int32_t to_signed(std::uint64_t value) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(value));
}

struct TrainerSettings {
  std::uint64_t kind = 1;
  bool blanks_behind = false;
  std::int32_t begin_id = 1, end_id = 2, pad_id = -1;
};

Status parse_trainer(std::string_view message, TrainerSettings& settings, PieceModel& model) {
  return for_each_field(message, [&](const WireField& field) -> Status {
    if (field.type != WireType::varint) return Done{};
    switch (field.number) {
      case 3:
        settings.kind = field.value;
        break;
      case 24:
        settings.blanks_behind = field.value != 0;
        break;
      case 35:
        model.byte_fallback = field.value != 0;
        break;
      case 41:
        settings.begin_id = to_signed(field.value);
        break;
      case 42:
        settings.end_id = to_signed(field.value);
        break;
      case 43:
        settings.pad_id = to_signed(field.value);
        break;
      default:
        break;
    }
    return Done{};
  });
}

Status parse_normalizer(std::string_view message, PieceModel& model) {
  return for_each_field(message, [&](const WireField& field) -> Status {
    if (is(field, 2, WireType::bytes)) model.character_map = field.bytes;
    if (is(field, 3, WireType::varint)) model.adds_prefix = field.value != 0;
    if (is(field, 4, WireType::varint)) model.removes_extra_blanks = field.value != 0;
    if (is(field, 5, WireType::varint)) model.escapes_blanks = field.value != 0;
    return Done{};
  });
}

// What the library asks of a model before it loads it (ModelInterface::InitializePieces).
Status check_pieces(PieceModel& model) {
  std::set<std::string_view> texts;
  std::array<bool, 256> has_byte{};
  for (std::size_t i = 0; i < model.pieces.size(); ++i) {
    const Piece& piece = model.pieces[i];
    if (piece.kind == Piece::Kind::normal && piece.text.size() > longest_piece)
      return wrong(fmt::format("expected pieces of at most {} bytes, found {} for piece {}",
                               longest_piece, piece.text.size(), i));
    if (piece.text.empty())
      return wrong(fmt::format("expected a text for piece {}, found none", i));
    if (!std::isfinite(piece.score))
      return wrong(fmt::format("expected a finite score for piece {}, found {}", i, piece.score));
    if (!texts.insert(piece.text).second)
      return wrong(fmt::format("expected every piece once, found \"{}\" twice", shown(piece.text)));
    if (piece.kind == Piece::Kind::unknown) {
      if (model.unknown >= 0)
        return wrong(fmt::format("expected one unknown piece, found {} and {}", model.unknown, i));
      model.unknown = static_cast<Id>(i);
    }
    if (piece.kind != Piece::Kind::byte) continue;
    const auto byte = byte_of_piece(piece.text);
    if (!byte || !model.byte_fallback)
      return wrong(fmt::format(
          "expected {}, found the byte piece \"{}\"",
          byte ? "no byte pieces without byte_fallback" : "byte pieces from <0x00> to <0xFF>",
          shown(piece.text)));
    has_byte[*byte] = true;
  }
  if (model.unknown < 0) return wrong("expected an unknown piece, found none");
  if (model.byte_fallback)
    for (std::size_t byte = 0; byte < has_byte.size(); ++byte)
      if (!has_byte[byte])
        return wrong(fmt::format("expected 256 byte pieces, found none for <0x{:02X}>", byte));
  return Done{};
}

Status apply(const TrainerSettings& settings, PieceModel& model) {
  constexpr std::array names{"unigram", "bpe", "word", "char"};
  if (settings.kind < 1 || settings.kind > 2)
    return Error{Errc::unsupported,
                 fmt::format("expected a model of the type unigram or bpe, found {}",
                             settings.kind >= 1 && settings.kind <= names.size()
                                 ? names[settings.kind - 1]
                                 : fmt::format("type {}", settings.kind)),
                 by_itself};
  if (settings.blanks_behind)
    return Error{Errc::unsupported,
                 "expected a model whose blanks stand before words, found "
                 "treat_whitespace_as_suffix",
                 by_itself};
  model.kind = static_cast<PieceModel::Kind>(settings.kind);
  const auto control = [&model](std::int32_t id) -> std::optional<Id> {
    if (id < 0 || static_cast<std::size_t>(id) >= model.pieces.size()) return std::nullopt;
    if (model.pieces[static_cast<std::size_t>(id)].kind != Piece::Kind::control)
      return std::nullopt;
    return id;
  };
  model.begin_id = control(settings.begin_id);
  model.end_id = control(settings.end_id);
  model.pad_id = control(settings.pad_id);
  return Done{};
}

// Files that people take for a SentencePiece model, by their beginning.
std::optional<std::string> other_format(std::string_view bytes) {
  if (bytes.starts_with("version https://git-lfs"))
    return "a pointer of Git LFS; the file itself has not been downloaded (git lfs pull)";
  if (bytes.starts_with("{")) return "JSON; a tokenizer.json has to be called that";
  if (bytes.starts_with("IQ== 0"))
    return "a vocabulary of tiktoken, as Llama 3's original folder has it; the folder with the "
           "tokenizer.json is the one to use";
  if (bytes.starts_with("<")) return "a web page";
  return std::nullopt;
}

Result<PieceModel> parse(std::string_view bytes) {
  if (bytes.empty()) return wrong("expected a SentencePiece model, found an empty file");
  if (const auto other = other_format(bytes))
    return wrong("expected a SentencePiece model, found " + *other);
  PieceModel model;
  TrainerSettings settings;
  HEADROOM_CHECK(for_each_field(bytes, [&](const WireField& field) -> Status {
    if (is(field, 1, WireType::bytes)) {
      if (model.pieces.size() == Vocabulary::most_ids)
        return wrong(fmt::format("expected at most {} pieces, found more", Vocabulary::most_ids));
      HEADROOM_TRY(Piece piece, parse_piece(field.bytes));
      model.pieces.push_back(std::move(piece));
    }
    if (is(field, 2, WireType::bytes)) return parse_trainer(field.bytes, settings, model);
    if (is(field, 3, WireType::bytes)) return parse_normalizer(field.bytes, model);
    return Done{};
  }));
  if (model.pieces.empty()) return wrong("expected a SentencePiece model, found no pieces in it");
  HEADROOM_CHECK(check_pieces(model));
  HEADROOM_CHECK(apply(settings, model));
  return model;
}

}  // namespace

std::optional<std::size_t> byte_of_piece(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return std::nullopt;
  const std::size_t high = digits.find(text[3]);
  const std::size_t low = digits.find(text[4]);
  if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
  return 16 * high + low;
}

Result<PieceModel> parse_piece_model(std::string_view bytes, const std::string& name) {
  auto model = parse(bytes);
  if (!model) return std::move(model.error()).in(name);
  return model;
}

}  // namespace headroom::tokens

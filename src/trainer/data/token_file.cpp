// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/token_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "machine/checksum.h"
#include "machine/user_files.h"
#include "tokens/npy_layout.h"
#include "trainer/data/pieces.h"

namespace headroom::trainer::data {
namespace {

// Even, so that a token's place in its piece is odd where its place in the file is.
constexpr std::uint64_t piece_tokens = std::uint64_t{1} << 20U;

// Pieces that are read at once: enough for the threads, and few enough to keep.
constexpr std::uint64_t pieces_at_once = 64;

}  // namespace

Result<TokenFile> TokenFile::open(const Source& source, const std::string& path) {
  auto file = machine::open_file(path);
  if (!file) {
    Error error = std::move(file).error();
    if (error.next.empty())
      error.next = fmt::format(
          "set {} to a file, or a folder with files, that can be read and end "
          "in .{}",
          source.key, source.kind);
    return error;
  }
  auto layout = source.kind == "npy"
                    ? tokens::read_npy_layout(**file)
                    : tokens::read_bin_layout(**file, {source.token_type, source.vocabulary});
  if (!layout) return std::move(layout).error().in(path);
  if (layout->count == 0)
    return Error{Errc::invalid, fmt::format("{}: expected token ids, found none", path),
                 "make sure that the program that wrote it came to its end"};
  return TokenFile(path, *std::move(file), *layout, source.vocabulary);
}

Error TokenFile::misfit(std::uint64_t place, std::int64_t value) const {
  const std::string where =
      layout_.columns == 0
          ? fmt::format("token {}", place)
          : fmt::format("row {}, column {}", place / layout_.columns, place % layout_.columns);
  return {
      Errc::invalid,
      fmt::format("{}, {} (from 0): expected {} ids from 0 to {}, found {}", path_, where,
                  to_string(layout_.type), vocabulary_ - 1, value),
      layout_.source == tokens::TokenLayout::Source::file
          ? "tokenise the data with the model's own tokenizer"
          : "tokenise the data with the model's own tokenizer; or, if the tokens are of another "
            "type, say which: dtype = \"uint16\" or \"uint32\" under [data]"};
}

Error TokenFile::wider() const {
  return {Errc::invalid,
          fmt::format("{}: expected uint16 tokens, as neither a header nor data.dtype says which "
                      "and the vocabulary fits, found 0 in every second place, as in a file of "
                      "uint32",
                      path_),
          "write dtype = \"uint32\" under [data], or \"uint16\" if these zeros are tokens"};
}

Status TokenFile::read(std::uint64_t first, std::span<std::int32_t> ids,
                       std::span<char> bytes) const {
  const std::uint64_t offset = layout_.offset + first * size_of(layout_.type);
  const auto filled = file_->read_at(offset, bytes);
  if (!filled) return Error(filled.error()).in(path_);
  if (*filled < bytes.size())
    return Error{Errc::invalid,
                 fmt::format("{}: expected {} tokens, as it had when the run began; found its end "
                             "after {}",
                             path_, layout_.count, first + *filled / size_of(layout_.type)),
                 "put the file back as it was, then go on with --resume"};
  const auto wrong =
      tokens::decode_tokens(layout_.type, {bytes.data(), bytes.size()}, vocabulary_, ids);
  if (wrong) return misfit(first + wrong->place, wrong->value);
  return Done{};
}

Status TokenFile::read(std::uint64_t first, std::span<std::int32_t> ids) const {
  std::vector<char> bytes(ids.size() * size_of(layout_.type));
  return read(first, ids, bytes);
}

Result<TokenFile::Piece> TokenFile::check_piece(std::uint64_t first, std::uint64_t count) const {
  std::vector<std::int32_t> ids(count);
  std::vector<char> bytes(count * size_of(layout_.type));
  HEADROOM_CHECK(read(first, ids, bytes));
  Piece piece{machine::sha256({bytes.data(), bytes.size()})};
  for (std::size_t i = 1; i < ids.size(); i += 2)
    piece.any_odd |= static_cast<std::uint32_t>(ids[i]);
  return piece;
}

Result<std::string> TokenFile::check() const {
  std::string sums =
      fmt::format("{} {} {}", to_string(layout_.type), layout_.count, layout_.columns);
  std::uint64_t any_odd = 0;
  constexpr std::uint64_t at_once = piece_tokens * pieces_at_once;
  for (std::uint64_t begin = 0; begin < layout_.count; begin += at_once) {
    const std::uint64_t tokens = std::min(at_once, layout_.count - begin);
    const std::uint64_t count = (tokens + piece_tokens - 1) / piece_tokens;
    std::vector<Result<Piece>> pieces(count, Piece{});
    do_pieces(count, [&](std::size_t i) {
      pieces[i] =
          check_piece(begin + i * piece_tokens, std::min(piece_tokens, tokens - i * piece_tokens));
    });
    for (Result<Piece>& piece : pieces) {
      if (!piece) return std::move(piece).error();
      sums += piece->checksum;
      any_odd |= piece->any_odd;
    }
  }
  if (looks_wider(layout_, any_odd)) return wider();
  return machine::sha256(sums);
}

}  // namespace headroom::trainer::data

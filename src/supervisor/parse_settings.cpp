// SPDX-License-Identifier: Apache-2.0
// The text of --settings. Its third value is words of a command line, which may hold commas.
#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"
#include "base/shell_lexer.h"
#include "base/text.h"
#include "supervisor/settings.h"

namespace headroom::supervisor {
namespace {

const std::vector<std::string>& keys() {
  static const std::vector<std::string> all{"micro", "accumulate", "resume"};
  return all;
}

Error wrong(const std::string& message) {
  return {Errc::invalid, "--settings: " + message,
          "headroom run --settings micro=8,accumulate=4,resume='--resume latest' -- CMD …"};
}

struct Piece {
  std::string key, value;
};

bool is_key_like(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

// A piece begins behind a comma. Without a key of ours it belongs to the words of resume before it,
// if its beginning is not a key with a typing error.
Result<std::vector<Piece>> split_pieces(const std::string& text) {
  std::vector<Piece> pieces;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    const std::string key =
        equals == std::string_view::npos ? "" : std::string(trim(part.substr(0, equals)));
    if (std::find(keys().begin(), keys().end(), key) != keys().end()) {
      pieces.push_back({key, std::string(part.substr(equals + 1))});
      continue;
    }
    const auto meant = is_key_like(key) ? nearest(key, keys()) : std::nullopt;
    if (!pieces.empty() && pieces.back().key == "resume" && !meant) {
      pieces.back().value += "," + std::string(part);
      continue;
    }
    return wrong(fmt::format("expected micro=N, accumulate=N or resume=WORDS, found \"{}\"{}",
                             printable(part), meant ? "; did you mean " + *meant + "?" : ""));
  }
  return pieces;
}

Result<std::uint64_t> parse_count(const Piece& piece) {
  const auto number = parse_u64(trim(piece.value));
  if (number && *number >= 1 && *number <= largest_setting) return *number;
  return wrong(fmt::format("{}: expected a whole number from 1 to {}, found \"{}\"", piece.key,
                           largest_setting, printable(piece.value)));
}

Result<std::vector<std::string>> parse_words(const Piece& piece) {
  std::vector<std::string> words;
  for (const ShellToken& token : lex_shell(piece.value)) {
    if (token.kind == ShellToken::Kind::blank) continue;
    const bool plain =
        token.kind == ShellToken::Kind::word &&
        std::none_of(token.parts.begin(), token.parts.end(),
                     [](const ShellPart& part) { return part.kind == ShellPart::Kind::expansion; });
    if (!plain) {
      const std::string found = piece.value.substr(token.begin, token.end - token.begin);
      return wrong(
          fmt::format("resume: expected words of a command line, in which nothing is expanded or "
                      "redirected; found \"{}\". Quotes make a word of it",
                      printable(found)));
    }
    words.push_back(token.text);
  }
  return words;
}

Status take(const Piece& piece, Settings& settings) {
  if (piece.key == "resume") {
    HEADROOM_TRY(settings.resume, parse_words(piece));
    if (settings.resume.empty()) return wrong("resume: expected words, found none");
    return Done{};
  }
  HEADROOM_TRY(const std::uint64_t count, parse_count(piece));
  (piece.key == "micro" ? settings.micro : settings.accumulate) = count;
  return Done{};
}

}  // namespace

Result<Settings> parse_settings(const std::string& text) {
  HEADROOM_TRY(const std::vector<Piece> pieces, split_pieces(text));
  Settings settings;
  std::vector<std::string> seen;
  for (const Piece& piece : pieces) {
    if (std::find(seen.begin(), seen.end(), piece.key) != seen.end()) {
      return wrong(fmt::format("expected each key once, found {} twice", piece.key));
    }
    seen.push_back(piece.key);
    HEADROOM_CHECK(take(piece, settings));
  }
  return settings;
}

}  // namespace headroom::supervisor

// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/load_encoder.h"

#include <fmt/format.h>

#include "base/document.h"
#include "machine/user_files.h"
#include "tokens/sentencepiece/piece_encoder.h"

namespace headroom::trainer::data {
namespace {

// The largest that there are have 33 MB and 6 MB.
constexpr std::size_t largest_tokenizer = std::size_t{128} << 20U;
constexpr std::size_t largest_pieces = std::size_t{32} << 20U;

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

// The text of "eos_token", which is one, or an object with it as "content".
Result<std::string> read_end_token(const std::string& config_path) {
  const auto text = machine::read_file(config_path);
  if (!text) return text.error().code == Errc::not_found ? Result<std::string>("") : text.error();
  auto config = parse_json(*text);
  if (!config) return std::move(config.error()).in(config_path);
  if (!config->is_object()) return std::string();
  Json token = config->value("eos_token", Json());
  if (token.is_object()) token = token.value("content", Json());
  return token.is_string() ? token.get<std::string>() : std::string();
}

Result<std::optional<tokens::Id>> find_end(const Source& source,
                                           const tokens::Tokenizer& tokenizer) {
  HEADROOM_TRY(const std::string end,
               read_end_token(folder_of(source.tokenizer) + "tokenizer_config.json"));
  if (!end.empty()) {
    if (const auto id = tokenizer.find(end)) return id;
  }
  return source.end_of_text;
}

Error unreadable(Error error) {
  if (error.next.empty())
    error.next =
        "set data.tokenizer to a tokenizer.json or a tokenizer.model that can be read, or to "
        "\"bytes\" to train byte by byte";
  return error;
}

// The files beside a tokenizer.model that change its ids.
Result<tokens::SettingsFiles> read_settings_files(const std::string& path) {
  tokens::SettingsFiles files;
  files.folder = folder_of(path);
  for (std::size_t i = 0; i < files.names.size(); ++i) {
    auto text = machine::read_file(files.folder + files.names[i], largest_tokenizer);
    if (text) {
      files.texts[i] = *std::move(text);
    } else if (text.error().code != Errc::not_found) {
      return std::move(text.error());
    }
  }
  return files;
}

Error more_pieces_than_rows(const Source& source, std::size_t pieces) {
  return {Errc::invalid,
          fmt::format("{}: expected at most {} pieces, the model's vocab_size, found {}",
                      source.tokenizer, source.vocabulary, pieces),
          "use the tokenizer.model that came with the model: tokenizer = \"FILE\" under [data]"};
}

std::string what_ends(const std::optional<std::string>& token) {
  return token ? fmt::format("with \"{}\"", *token)
               : "without a token of its own: neither tokenizer_config.json nor config.json has "
                 "one";
}

Result<std::unique_ptr<tokens::TextEncoder>> load_pieces(const Source& source,
                                                         std::vector<std::string>& notes) {
  const auto bytes = machine::read_file(source.tokenizer, largest_pieces);
  if (!bytes) return unreadable(bytes.error());
  HEADROOM_TRY(const tokens::SettingsFiles files, read_settings_files(source.tokenizer));
  HEADROOM_TRY(tokens::PieceEncoder encoder,
               tokens::PieceEncoder::make(*bytes, source.tokenizer, files, source.end_of_text));
  if (encoder.piece_count() > source.vocabulary)
    return more_pieces_than_rows(source, encoder.piece_count());
  const auto end = encoder.end_of_text();
  notes.push_back(fmt::format("tokens by {}; a text ends {}", source.tokenizer,
                              what_ends(end ? std::optional(encoder.shown(*end)) : std::nullopt)));
  return std::unique_ptr<tokens::TextEncoder>(
      std::make_unique<tokens::PieceEncoder>(std::move(encoder)));
}

Error too_small_for_bytes(const Source& source) {
  return {Errc::invalid,
          fmt::format("text is trained byte by byte, which needs a vocabulary of at least {}; the "
                      "model has {}",
                      byte_vocabulary, source.vocabulary),
          fmt::format("set vocab_size to {} in the model's config.json, name the model's tokenizer "
                      "with tokenizer = \"tokenizer.json\" under [data], or give token ids with "
                      "kind = \"tokens\"",
                      byte_vocabulary)};
}

}  // namespace

Result<std::unique_ptr<tokens::TextEncoder>> load_encoder(const Source& source,
                                                          std::vector<std::string>& notes) {
  if (source.tokenizer.empty()) {
    if (source.vocabulary < byte_vocabulary) return too_small_for_bytes(source);
    return std::unique_ptr<tokens::TextEncoder>(
        std::make_unique<tokens::ByteEncoder>(end_of_sample));
  }
  if (source.tokenizer.ends_with(".model")) return load_pieces(source, notes);
  const auto text = machine::read_file(source.tokenizer, largest_tokenizer);
  if (!text) return unreadable(text.error());
  HEADROOM_TRY(tokens::Tokenizer tokenizer, tokens::Tokenizer::parse(*text, source.tokenizer));
  HEADROOM_TRY(const std::optional<tokens::Id> end, find_end(source, tokenizer));
  const auto shown = [&tokenizer](tokens::Id id) {
    return tokenizer.token(id).value_or(fmt::format("{}", id));
  };
  notes.push_back(fmt::format("tokens by {}; a text ends {}", source.tokenizer,
                              what_ends(end ? std::optional(shown(*end)) : std::nullopt)));
  return std::unique_ptr<tokens::TextEncoder>(
      std::make_unique<tokens::TokenEncoder>(std::move(tokenizer), end));
}

}  // namespace headroom::trainer::data

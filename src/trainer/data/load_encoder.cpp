// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/load_encoder.h"

#include <fmt/format.h>

#include "base/document.h"
#include "machine/user_files.h"

namespace headroom::trainer::data {
namespace {

// The largest that there is has 33 MB.
constexpr std::size_t largest_tokenizer = std::size_t{128} << 20U;

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
  const std::size_t slash = source.tokenizer.rfind('/');
  const std::string folder =
      slash == std::string::npos ? "" : source.tokenizer.substr(0, slash + 1);
  HEADROOM_TRY(const std::string end, read_end_token(folder + "tokenizer_config.json"));
  if (!end.empty()) {
    if (const auto id = tokenizer.find(end)) return id;
  }
  return source.end_of_text;
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
  const auto text = machine::read_file(source.tokenizer, largest_tokenizer);
  if (!text) {
    Error error = text.error();
    if (error.next.empty())
      error.next =
          "set data.tokenizer to a tokenizer.json that can be read, or to \"bytes\" to train "
          "byte by byte";
    return error;
  }
  HEADROOM_TRY(tokens::Tokenizer tokenizer, tokens::Tokenizer::parse(*text, source.tokenizer));
  HEADROOM_TRY(const std::optional<tokens::Id> end, find_end(source, tokenizer));
  notes.push_back(fmt::format(
      "tokens by {}; a text ends {}", source.tokenizer,
      end ? fmt::format("with \"{}\"", tokenizer.token(*end).value_or(fmt::format("{}", *end)))
          : "without a token of its own: neither tokenizer_config.json nor config.json has one"));
  return std::unique_ptr<tokens::TextEncoder>(
      std::make_unique<tokens::TokenEncoder>(std::move(tokenizer), end));
}

}  // namespace headroom::trainer::data

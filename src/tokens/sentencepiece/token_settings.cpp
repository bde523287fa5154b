// SPDX-License-Identifier: Apache-2.0
#include "tokens/sentencepiece/token_settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/document.h"
#include "base/document_reader.h"
#include "base/printable.h"
#include "tokens/vocabulary.h"

namespace headroom::tokens {
namespace {

constexpr const char* own_file = "use the files that came with the model";

// The order in which transformers numbers those that are no piece (SpecialTokensMixin).
constexpr std::array special_keys = {"bos_token", "eos_token", "unk_token", "sep_token",
                                     "pad_token", "cls_token", "mask_token"};
constexpr std::array lists_of_special = {"additional_special_tokens", "extra_special_tokens"};

Error wrong(const std::string& file, std::string_view key, std::string_view expected) {
  return {Errc::invalid,
          fmt::format("{}: {}: expected {}, found something else", file, key, expected), own_file};
}

Result<Json> parse(const SettingsFiles& files, std::size_t number) {
  const std::string& text = files.texts[number];
  if (text.empty()) return Json::object();
  const std::string name = files.folder + SettingsFiles::names[number];
  auto value = parse_json(text);
  if (!value) return std::move(value.error()).in(name);
  if (!value->is_object())
    return Error{Errc::invalid, name + ": expected an object, found other JSON", own_file};
  return value;
}

Status read_flag(const Json& config, const char* key, bool& flag) {
  const auto found = config.find(key);
  if (found == config.end() || found->is_null()) return Done{};
  if (!found->is_boolean()) return wrong(SettingsFiles::names[0], key, "true or false");
  flag = found->get<bool>();
  return Done{};
}

// A token, which is a text or an object with it; nothing if it is null.
Result<std::optional<AddedToken>> read_token(const Json& value, const std::string& key) {
  if (value.is_null()) return std::optional<AddedToken>();
  AddedToken token;
  token.normalized = false;
  token.special = true;
  if (value.is_string()) {
    token.content = value.get<std::string>();
    return std::optional(token);
  }
  const auto content = value.is_object() ? value.find("content") : value.end();
  if (!value.is_object() || content == value.end() || !content->is_string())
    return wrong("a token", key, "a text, or an object with \"content\"");
  token.content = content->get<std::string>();
  const auto flag = [&value](const char* name, bool& to) {
    const auto found = value.find(name);
    if (found != value.end() && found->is_boolean()) to = found->get<bool>();
  };
  flag("single_word", token.single_word);
  flag("lstrip", token.strips_left);
  flag("rstrip", token.strips_right);
  return std::optional(token);
}

class Reader {
 public:
  explicit Reader(TokenSettings& settings) : settings_(settings) {}

  // added_tokens_decoder: tokens by their ids.
  Status add_numbered(const Json& config) {
    const auto table = config.find("added_tokens_decoder");
    if (table == config.end() || table->is_null()) return Done{};
    if (!table->is_object())
      return wrong(SettingsFiles::names[0], "added_tokens_decoder", "a table");
    std::vector<AddedToken> tokens;
    for (const auto& [key, value] : table->items()) {
      const std::string place = "added_tokens_decoder." + printable(key);
      HEADROOM_TRY(const auto id, read_id(Json(key), place));
      HEADROOM_TRY(auto token, read_token(value, place));
      if (!token) continue;
      token->id = id;
      token->special = value.is_object() && value.value("special", Json(false)) == true;
      tokens.push_back(*std::move(token));
    }
    return add_sorted(std::move(tokens));
  }

  // added_tokens.json: ids by their tokens.
  Status add_named(const Json& table) {
    std::vector<AddedToken> tokens;
    for (const auto& [content, value] : table.items()) {
      HEADROOM_TRY(const auto id, read_id(value, printable(content)));
      tokens.push_back({.id = id, .content = content, .normalized = false});
    }
    return add_sorted(std::move(tokens));
  }

  // The tokens with a role; the first file that has one counts.
  Status add_special(const Json& config) {
    for (const char* key : special_keys) {
      const auto found = config.find(key);
      if (found == config.end()) continue;
      HEADROOM_TRY(auto token, read_token(*found, key));
      if (!token) continue;
      if (std::find(roles_.begin(), roles_.end(), key) != roles_.end()) continue;
      roles_.emplace_back(key);
      if (std::string_view(key) == "bos_token") settings_.begin = token->content;
      if (std::string_view(key) == "eos_token") settings_.end = token->content;
      add(*std::move(token));
    }
    for (const char* key : lists_of_special) {
      const auto found = config.find(key);
      if (found == config.end() || !found->is_array()) continue;
      for (const Json& value : *found) {
        HEADROOM_TRY(auto token, read_token(value, key));
        if (token) add(*std::move(token));
      }
    }
    return Done{};
  }

 private:
  static Result<Id> read_id(const Json& value, const std::string& key) {
    std::optional<std::uint64_t> id = whole_number(value);
    if (value.is_string()) {
      const auto text = value.get<std::string>();
      const Json number = Json::parse(text, nullptr, false);
      id = number.is_discarded() ? std::nullopt : whole_number(number);
    }
    if (!id || *id >= Vocabulary::most_ids)
      return wrong("an added token", key, fmt::format("an id below {}", Vocabulary::most_ids));
    return static_cast<Id>(*id);
  }

  Status add_sorted(std::vector<AddedToken> tokens) {
    std::sort(tokens.begin(), tokens.end(),
              [](const AddedToken& a, const AddedToken& b) { return a.id < b.id; });
    for (AddedToken& token : tokens) add(std::move(token));
    return Done{};
  }

  // Once: what was said first of a token counts, but for its id.
  void add(AddedToken token) {
    if (token.content.empty()) return;
    const auto same = [&token](const AddedToken& other) { return other.content == token.content; };
    const auto known = std::find_if(settings_.added.begin(), settings_.added.end(), same);
    if (known != settings_.added.end()) {
      if (known->id < 0) known->id = token.id;
      return;
    }
    token.found_as = token.content;
    settings_.added.push_back(std::move(token));
  }

  TokenSettings& settings_;
  std::vector<std::string> roles_;
};

// Families whose ids are those of the model's pieces, and what they put around a text.
Status apply_class(const Json& config, TokenSettings& settings) {
  const auto found = config.find("tokenizer_class");
  if (found == config.end() || !found->is_string()) return Done{};
  std::string name = found->get<std::string>();
  for (const std::string_view ending : {"Fast", "Tokenizer"})
    if (name.ends_with(ending)) name.resize(name.size() - ending.size());
  if (name == "T5") {
    settings.adds_begin = false;
    settings.adds_end = true;
    settings.ends_once = true;
    return Done{};
  }
  if (name == "Llama" || name == "CodeLlama" || name == "Gemma") return Done{};
  return Error{
      Errc::unsupported,
      fmt::format("tokenizer_class: expected LlamaTokenizer, GemmaTokenizer or T5Tokenizer "
                  "beside a tokenizer.model, found {}",
                  printable(found->get<std::string>())),
      "tokenise the data with the model's own tokenizer and write kind = \"tokens\""};
}

}  // namespace

Result<TokenSettings> read_token_settings(const SettingsFiles& files) {
  TokenSettings settings;
  HEADROOM_TRY(const Json config, parse(files, 0));
  HEADROOM_TRY(const Json roles, parse(files, 1));
  HEADROOM_TRY(const Json added, parse(files, 2));
  const auto in_config = [&files](Status status) -> Status {
    if (status) return status;
    return std::move(status.error()).in(files.folder + SettingsFiles::names[0]);
  };
  HEADROOM_CHECK(in_config(apply_class(config, settings)));
  for (const auto& [key, flag] : {std::pair{"add_bos_token", &settings.adds_begin},
                                  {"add_eos_token", &settings.adds_end},
                                  {"add_prefix_space", &settings.adds_prefix},
                                  {"legacy", &settings.prefixes_parts}})
    HEADROOM_CHECK(read_flag(config, key, *flag));
  Reader reader(settings);
  HEADROOM_CHECK(in_config(reader.add_numbered(config)));
  const bool is_complete = config.contains("added_tokens_decoder");
  HEADROOM_CHECK(in_config(reader.add_special(config)));
  if (!is_complete) {
    HEADROOM_CHECK(reader.add_special(roles));
    HEADROOM_CHECK(reader.add_named(added));
  }
  return settings;
}

}  // namespace headroom::tokens

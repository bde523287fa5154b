// SPDX-License-Identifier: Apache-2.0
// A tokenizer.json as the parts that tokenizer.cpp encodes by.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/document.h"
#include "base/printable.h"
#include "tokens/tokenizer.h"

namespace headroom::tokens {
namespace {

constexpr std::size_t longest_added = std::size_t{4} << 20U;  // Bytes of all added tokens.
constexpr const char* own_file = "use the tokenizer.json that came with the model";

Error too_long() {
  return {
      Errc::invalid,
      fmt::format("expected added tokens of at most {} bytes in all, found more", longest_added),
      own_file};
}

}  // namespace

// Hugging Face's tokenizers number these tokens themselves, and so may not agree with the file: a
// token of the vocabulary keeps its id, another one gets the next behind all of them.
void Tokenizer::add_token(TableReader& row, AddedToken token) {
  if (added_by_content_.contains(token.content)) return;
  const auto known = bpe_.vocabulary().find(token.content);
  const auto size = static_cast<Id>(bpe_.vocabulary().size());
  const Id expected = known ? *known : std::max(size, highest_added_ + 1);
  if (token.id != expected || (!known && bpe_.vocabulary().token(token.id) != nullptr)) {
    row.fail("id", Errc::invalid,
             fmt::format("expected {}, which Hugging Face's tokenizers give \"{}\", found {}",
                         expected, printable(token.content), token.id),
             own_file);
    return;
  }
  highest_added_ = std::max(highest_added_, token.id);
  added_by_content_.emplace(token.content, added_.size());
  added_by_id_.emplace(token.id, added_.size());
  added_.push_back(std::move(token));
}

void Tokenizer::read_added_tokens(TableReader& root) {
  for (TableReader& row : root.rows("added_tokens")) {
    AddedToken token;
    token.id = static_cast<Id>(row.number("id", {0, Vocabulary::most_ids - 1}));
    token.content = row.text("content");
    row.read("single_word", token.single_word);
    row.read("lstrip", token.strips_left);
    row.read("rstrip", token.strips_right);
    row.read("special", token.special);
    token.normalized = !token.special;
    row.read("normalized", token.normalized);
    if (!token.content.empty()) add_token(row, std::move(token));
  }
}

// Special tokens first: of two that are the same once normalised, the first is found.
Status Tokenizer::find_added_tokens() {
  std::size_t bytes = 0;
  for (const bool special : {true, false}) {
    for (AddedToken& token : added_) {
      if (token.special != special) continue;
      token.found_as = token.content;
      if (token.normalized && normalizer_) HEADROOM_CHECK(normalizer_->apply(token.found_as));
      bytes += token.found_as.size();
      if (bytes > longest_added) return too_long();
      if (!token.found_as.empty()) (token.normalized ? normalised_ : plain_).add(token);
    }
  }
  return Done{};
}

Result<Tokenizer> Tokenizer::parse(std::string_view json, const std::string& name) {
  auto value = parse_json(json);
  if (!value) return std::move(value.error()).in(name);
  if (!value->is_object())
    return Error{
        Errc::invalid,
        fmt::format("{}: expected a tokenizer.json, which is an object, found other JSON", name),
        own_file};
  DocumentReader reader(
      *value,
      {.spelling = Spelling::json, .root = "the tokenizer", .file = name, .next = own_file});
  TableReader root = reader.root();
  Tokenizer tokenizer;
  tokenizer.bpe_ = Bpe::read(root);
  tokenizer.normalizer_ = read_normalizer(root, "normalizer");
  tokenizer.pre_tokenizer_ = read_pre_tokenizer(root, "pre_tokenizer");
  tokenizer.surroundings_ = read_post_processor(root, "post_processor");
  tokenizer.decoder_ = read_decoder(root, "decoder");
  if (!reader.failed()) tokenizer.read_added_tokens(root);
  HEADROOM_CHECK(reader.finish());
  if (const auto found = tokenizer.find_added_tokens(); !found)
    return Error(found.error()).in(name);
  std::size_t end = tokenizer.bpe_.vocabulary().end();
  for (const AddedToken& token : tokenizer.added_)
    end = std::max(end, static_cast<std::size_t>(token.id) + 1);
  tokenizer.end_ = end;
  return tokenizer;
}

}  // namespace headroom::tokens

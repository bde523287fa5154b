// SPDX-License-Identifier: Apache-2.0
#include "logs/matcher.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace headroom::logs {
namespace {

// RE2's automata are built as they are needed, up to this much.
constexpr std::int64_t automaton_bytes = std::int64_t{12} << 20;
constexpr int shortest_word = 3;

RE2::Options options(bool case_sensitive) {
  RE2::Options options;
  options.set_encoding(RE2::Options::EncodingLatin1);  // Bytes: a log may hold anything.
  options.set_log_errors(false);
  options.set_case_sensitive(case_sensitive);
  options.set_max_mem(automaton_bytes);
  return options;
}

Error wrong(const knowledge::Signature& signature, const std::string& found) {
  return {Errc::invalid,
          fmt::format("signature {}: expected an expression of RE2 with a literal part, found {}",
                      signature.id, found),
          "mend data/signatures.toml"};
}

}  // namespace

Result<Matcher> Matcher::make(const knowledge::SignatureTable& table) {
  Matcher matcher(table);
  matcher.expressions_ = std::make_unique<re2::FilteredRE2>(shortest_word);
  std::vector<std::string> words;
  for (const knowledge::Signature& signature : table.rows) {
    int id = 0;
    if (matcher.expressions_->Add(signature.match, options(true), &id) != RE2::NoError) {
      return wrong(signature, signature.match);
    }
  }
  matcher.expressions_->Compile(&words);
  // Of a text without any word, those are left that need none: there must be none.
  std::vector<int> needing_nothing;
  matcher.expressions_->AllPotentials({}, &needing_nothing);
  if (!needing_nothing.empty()) {
    return wrong(table.rows[static_cast<std::size_t>(needing_nothing.front())], "none in it");
  }
  matcher.words_ = std::make_unique<re2::RE2::Set>(options(false), RE2::UNANCHORED);
  std::vector<std::string> quoted;
  for (const std::string& word : words) {
    quoted.push_back(RE2::QuoteMeta(word));
    matcher.words_->Add(quoted.back(), nullptr);
  }
  matcher.any_word_ = std::make_unique<const RE2>(join(quoted, "|"), options(false));
  if (!matcher.words_->Compile() || !matcher.any_word_->ok()) {
    return Error{Errc::invalid, "the signatures' words do not compile", ""};
  }
  return matcher;
}

std::size_t Matcher::find_candidate(std::string_view text, std::size_t from) const {
  re2::StringPiece found;
  const re2::StringPiece piece(text.data(), text.size());
  if (!any_word_->Match(piece, from, text.size(), RE2::UNANCHORED, &found, 1)) {
    return std::string_view::npos;
  }
  return static_cast<std::size_t>(found.data() - text.data());
}

std::vector<const knowledge::Signature*> Matcher::match(std::string_view line) const {
  std::vector<const knowledge::Signature*> matched;
  const re2::StringPiece piece(line.data(), line.size());
  std::vector<int> words, ids;
  if (!words_->Match(piece, &words)) return matched;
  expressions_->AllMatches(piece, words, &ids);
  std::sort(ids.begin(), ids.end());
  for (const int id : ids) matched.push_back(&table_->rows[static_cast<std::size_t>(id)]);
  return matched;
}

Matcher::Match Matcher::extract(const knowledge::Signature& signature,
                                std::string_view line) const {
  const auto index = static_cast<int>(&signature - table_->rows.data());
  const RE2& expression = expressions_->GetRE2(index);
  std::vector<re2::StringPiece> groups(
      static_cast<std::size_t>(expression.NumberOfCapturingGroups()) + 1);
  Match match;
  if (!expression.Match(re2::StringPiece(line.data(), line.size()), 0, line.size(), RE2::UNANCHORED,
                        groups.data(), static_cast<int>(groups.size()))) {
    return match;
  }
  match.begin = static_cast<std::size_t>(groups[0].data() - line.data());
  match.end = match.begin + groups[0].size();
  for (const auto& [number, name] : expression.CapturingGroupNames()) {
    const re2::StringPiece& group = groups[static_cast<std::size_t>(number)];
    if (group.data() != nullptr) match.values.emplace_back(name, std::string(group));
  }
  return match;
}

}  // namespace headroom::logs

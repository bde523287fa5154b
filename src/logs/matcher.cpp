// SPDX-License-Identifier: Apache-2.0
#include "logs/matcher.h"

#include <fmt/format.h>

#include <algorithm>

namespace headroom::logs {
namespace {

using knowledge::Signature;

constexpr int shortest_word = 3;
// RE2's automata are built as they are needed, up to this much each: with hundreds of signatures
// these budgets are the reader's memory. An expression that needs more to be compiled gets it.
constexpr std::int64_t usual_bytes = std::int64_t{128} << 10;
constexpr std::int64_t most_bytes = std::int64_t{8} << 20;

Error wrong(const Signature& signature, const std::string& found) {
  return {Errc::invalid,
          fmt::format("signature {}: expected an expression of RE2 with a literal part, found {}",
                      signature.id, found),
          "mend data/signatures.toml"};
}

// An expression and its words, all of them.
struct Compiled {
  std::unique_ptr<re2::FilteredRE2> expression;
  std::vector<std::string> words;
};

Result<Compiled> compile(const Signature& signature) {
  RE2::Options options(RE2::Latin1);  // Bytes: a log may hold anything.
  options.set_log_errors(false);
  for (const std::int64_t bytes : {usual_bytes, most_bytes}) {
    options.set_max_mem(bytes);
    Compiled compiled{std::make_unique<re2::FilteredRE2>(shortest_word), {}};
    int id = 0;
    const RE2::ErrorCode code = compiled.expression->Add(signature.match, options, &id);
    if (code == RE2::ErrorPatternTooLarge) continue;
    if (code != RE2::NoError) break;
    compiled.expression->Compile(&compiled.words);
    return compiled;
  }
  return wrong(signature, signature.match);
}

bool may_match(const re2::FilteredRE2& expression, const std::vector<int>& words) {
  std::vector<int> potential;
  expression.AllPotentials(words, &potential);
  return !potential.empty();
}

// The fewest and rarest words without any of which the expression cannot match: in "a.*b|c" these
// are c and one of a and b. `common(word)` is larger for words that many lines have.
template <class Commonness>
std::vector<std::string> choose_words(const Compiled& compiled, const Commonness& common) {
  const std::vector<std::string>& words = compiled.words;
  std::vector<int> order;
  for (int i = 0; i < static_cast<int>(words.size()); ++i) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return common(words[static_cast<std::size_t>(a)]) > common(words[static_cast<std::size_t>(b)]);
  });
  std::vector<std::string> chosen;
  std::vector<int> left_out;
  for (const int word : order) {
    left_out.push_back(word);
    if (!may_match(*compiled.expression, left_out)) continue;
    left_out.pop_back();
    chosen.push_back(words[static_cast<std::size_t>(word)]);
  }
  return chosen;
}

}  // namespace

Result<Matcher> Matcher::make(const knowledge::SignatureTable& table) {
  Matcher matcher(table);
  std::vector<Compiled> all;
  std::unordered_map<std::string, int> users;
  for (const Signature& signature : table.rows) {
    HEADROOM_TRY(Compiled compiled, compile(signature));
    if (compiled.words.empty() || may_match(*compiled.expression, {})) {
      return wrong(signature, "none in it");
    }
    for (const std::string& word : compiled.words) ++users[word];
    all.push_back(std::move(compiled));
  }
  // Short words, and those that many signatures have ("amdgpu", "error"), stand on many lines.
  const auto common = [&](const std::string& word) {
    const auto letters = static_cast<double>(word.size()) - 2;
    return users[word] / (letters * letters);
  };
  std::vector<std::string> words;
  std::unordered_map<std::string, std::size_t> places;
  for (std::size_t place = 0; place < all.size(); ++place) {
    for (std::string& word : choose_words(all[place], common)) {
      const auto [known, is_new] = places.emplace(word, words.size());
      if (is_new) {
        words.push_back(std::move(word));
        matcher.needed_by_.emplace_back();
      }
      matcher.needed_by_[known->second].push_back(static_cast<int>(place));
    }
    matcher.expressions_.push_back(std::move(all[place].expression));
  }
  matcher.words_ = Words::make(std::move(words));
  if (matcher.words_ == nullptr) {
    return Error{Errc::invalid, "the signatures' words do not compile", ""};
  }
  return matcher;
}

void Matcher::match(std::string_view line, std::size_t from, std::vector<int>& places) const {
  places.clear();
  for (Words::Hit hit = words_->find(line, from); hit.word >= 0;
       hit = words_->find(line, hit.next)) {
    for (const int word : words_->within(hit.word)) {
      const std::vector<int>& users = needed_by_[static_cast<std::size_t>(word)];
      places.insert(places.end(), users.begin(), users.end());
    }
  }
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  const re2::StringPiece piece(line.data(), line.size());
  std::erase_if(places, [&](int place) {
    return !expression(place).Match(piece, 0, line.size(), RE2::UNANCHORED, nullptr, 0);
  });
}

Matcher::Match Matcher::extract(int place, std::string_view line) const {
  const RE2& wanted = expression(place);
  std::vector<re2::StringPiece> groups(
      static_cast<std::size_t>(wanted.NumberOfCapturingGroups()) + 1);
  Match match;
  if (!wanted.Match(re2::StringPiece(line.data(), line.size()), 0, line.size(), RE2::UNANCHORED,
                    groups.data(), static_cast<int>(groups.size()))) {
    return match;
  }
  match.begin = static_cast<std::size_t>(groups[0].data() - line.data());
  match.end = match.begin + groups[0].size();
  for (const auto& [number, name] : wanted.CapturingGroupNames()) {
    const re2::StringPiece& group = groups[static_cast<std::size_t>(number)];
    if (group.data() == nullptr) continue;
    match.values.emplace_back(name, std::string(group));
  }
  return match;
}

}  // namespace headroom::logs

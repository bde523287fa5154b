// SPDX-License-Identifier: Apache-2.0
#include "logs/matcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace headroom::logs {
namespace {

using knowledge::Signature;

constexpr int shortest_word = 3;
// RE2's automata are built as they are needed, up to this much each: with hundreds of signatures
// these budgets are the reader's memory. An expression that needs more to be compiled gets it.
constexpr std::int64_t usual_bytes = std::int64_t{1} << 20;
constexpr std::int64_t most_bytes = std::int64_t{8} << 20;

Error wrong(const Signature& signature, const std::string& found) {
  return {Errc::invalid,
          fmt::format("signature {}: expected an expression of RE2 with a literal part, found {}",
                      signature.id, found),
          "mend data/signatures.toml"};
}

Error stopped() {
  return {Errc::busy, "compiling the rules of log lines was stopped", ""};
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

constexpr std::size_t most_sets = 4;

// Sets of words such that the expression cannot match without one word of each: for "a.*b|c" these
// are {c, a} and {c, b}, without c in the second as it is in the first. The first set is the one of
// the rarest words. `common(word)` is larger for words that many lines have.
template <class Commonness>
std::vector<std::vector<std::string>> choose_words(const Compiled& compiled,
                                                   const Commonness& common) {
  std::vector<std::pair<double, int>> order;  // Commonest first.
  for (std::size_t i = 0; i < compiled.words.size(); ++i) {
    order.emplace_back(-common(compiled.words[i]), static_cast<int>(i));
  }
  std::sort(order.begin(), order.end());
  std::vector<std::vector<std::string>> sets;
  std::vector<int> used;
  while (sets.size() < most_sets && !may_match(*compiled.expression, used)) {
    std::vector<int> left_out = used;
    std::vector<std::string> chosen;
    for (const auto& [weight, word] : order) {
      if (std::find(used.begin(), used.end(), word) != used.end()) continue;
      left_out.push_back(word);
      if (!may_match(*compiled.expression, left_out)) continue;
      left_out.pop_back();
      chosen.push_back(compiled.words[static_cast<std::size_t>(word)]);
    }
    // What is not left out is either used before or chosen now.
    for (std::size_t i = 0; i < compiled.words.size(); ++i) {
      if (std::find(chosen.begin(), chosen.end(), compiled.words[i]) != chosen.end()) {
        used.push_back(static_cast<int>(i));
      }
    }
    sets.push_back(std::move(chosen));
  }
  return sets;
}

}  // namespace

Result<Matcher> Matcher::make(const knowledge::SignatureTable& table, const std::stop_token& stop) {
  Matcher matcher(table);
  std::vector<Compiled> all;
  std::unordered_map<std::string, int> users;
  for (const Signature& signature : table.rows) {
    if (stop.stop_requested()) return stopped();
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
  std::vector<Words::Word> words;
  std::unordered_map<std::string, std::size_t> places;
  for (std::size_t place = 0; place < all.size(); ++place) {
    if (stop.stop_requested()) return stopped();
    std::uint8_t set = 1;
    for (const auto& chosen : choose_words(all[place], common)) {
      for (const std::string& word : chosen) {
        const auto [known, is_new] = places.emplace(word, words.size());
        if (is_new) {
          words.push_back({word});
          matcher.needed_by_.emplace_back();
        }
        if (set == 1) words[known->second].is_key = true;
        matcher.needed_by_[known->second].push_back({static_cast<int>(place), set});
      }
      set = static_cast<std::uint8_t>(set << 1U);
    }
    matcher.needs_.push_back(static_cast<std::uint8_t>(set - 1));
    matcher.expressions_.push_back(std::move(all[place].expression));
  }
  matcher.words_ = std::make_unique<const Words>(words);
  return matcher;
}

void Matcher::match(std::string_view line, std::vector<int>& places, Scratch& scratch) const {
  places.clear();
  scratch.words.clear();
  words_->find_all(line, scratch.words);
  scratch.has.resize(needs_.size());
  scratch.is_done.resize(needs_.size());
  for (const int word : scratch.words) {
    for (const auto& [place, set] : needed_by_[static_cast<std::size_t>(word)]) {
      if (scratch.is_done[static_cast<std::size_t>(place)]) continue;
      std::uint8_t& has = scratch.has[static_cast<std::size_t>(place)];
      if (has == 0) places.push_back(place);
      has |= set;
    }
  }
  const re2::StringPiece piece(line.data(), line.size());
  std::erase_if(places, [&](int place) {
    const auto index = static_cast<std::size_t>(place);
    const bool has_words = std::exchange(scratch.has[index], std::uint8_t{0}) == needs_[index];
    return !has_words ||
           !expression(place).Match(piece, 0, line.size(), RE2::UNANCHORED, nullptr, 0);
  });
  std::sort(places.begin(), places.end());
}

Matcher::Match Matcher::extract(int place, std::string_view line) const {
  const RE2& wanted = expression(place);
  std::vector<re2::StringPiece> groups(static_cast<std::size_t>(wanted.NumberOfCapturingGroups()) +
                                       1);
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

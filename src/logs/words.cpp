// SPDX-License-Identifier: Apache-2.0
#include "logs/words.h"

#include <algorithm>
#include <numeric>

#include "base/text.h"

namespace headroom::logs {
namespace {

// Enough for a trie of some ten thousand letters; used only as far as logs lead into it.
constexpr std::int64_t automaton_bytes = std::int64_t{24} << 20;

// Reads ASCII alone, as the words were lowered.
char to_lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

}  // namespace

std::unique_ptr<const Words> Words::make(std::vector<std::string> list) {
  // Not make_unique: the constructor is private.
  std::unique_ptr<Words> words(new Words(std::move(list)));
  // Words with the same beginning stand together, which RE2 makes one path of, and the longer of
  // them first, which makes the longest one win.
  std::vector<std::string> quoted;
  for (const std::string& word : words->words_) quoted.push_back(RE2::QuoteMeta(word));
  std::vector<std::size_t> order(quoted.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return words->words_[a] > words->words_[b];
  });
  std::vector<std::string> ordered;
  for (const std::size_t place : order) ordered.push_back(std::move(quoted[place]));
  RE2::Options options(RE2::Latin1);  // Bytes: a log may hold anything.
  options.set_log_errors(false);
  options.set_case_sensitive(false);
  options.set_max_mem(automaton_bytes);
  words->any_ = std::make_unique<const RE2>(join(ordered, "|"), options);
  if (!words->any_->ok()) return nullptr;
  words->find_overlaps();
  return words;
}

void Words::find_overlaps() {
  for (std::size_t i = 0; i < words_.size(); ++i) {
    places_.emplace(words_[i], static_cast<int>(i));
    longest_ = std::max(longest_, words_[i].size());
  }
  std::vector<std::string_view> sorted(words_.begin(), words_.end());
  std::sort(sorted.begin(), sorted.end());
  const auto begins_longer_one = [&](std::string_view part) {
    const auto after = std::upper_bound(sorted.begin(), sorted.end(), part);
    return after != sorted.end() && after->starts_with(part);
  };
  for (const std::string_view word : words_) {
    Entry entry;
    entry.next = word.size();
    for (std::size_t begin = 0; begin < word.size(); ++begin) {
      for (std::size_t size = 1; begin + size <= word.size(); ++size) {
        const auto found = places_.find(word.substr(begin, size));
        if (found != places_.end()) entry.within.push_back(found->second);
      }
      if (begin > 0 && entry.next == word.size() && begins_longer_one(word.substr(begin))) {
        entry.next = begin;
      }
    }
    entries_.push_back(std::move(entry));
  }
}

Words::Hit Words::find(std::string_view text, std::size_t from) const {
  const re2::StringPiece piece(text.data(), text.size());
  std::string lower;
  while (from < text.size() && !words_.empty()) {
    re2::StringPiece found;
    if (!any_->Match(piece, from, text.size(), RE2::UNANCHORED, &found, 1)) break;
    const auto begin = static_cast<std::size_t>(found.data() - text.data());
    lower.assign(found.data(), found.size());
    std::transform(lower.begin(), lower.end(), lower.begin(), to_lower);
    const auto known = places_.find(lower);
    if (known != places_.end()) {
      return {begin, known->second,
              begin + entries_[static_cast<std::size_t>(known->second)].next};
    }
    from = begin + 1;  // RE2 folds letters beyond ASCII, which the words do not.
  }
  return {};
}

}  // namespace headroom::logs

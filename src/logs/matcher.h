// SPDX-License-Identifier: Apache-2.0
// All signatures, compiled. A text is searched once for words that the signatures cannot match
// without (parts of them, which RE2 finds by itself); only a line that has such a word is looked at
// further, and only for the signatures that need it.
#pragma once

#include <re2/filtered_re2.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "knowledge/signatures.h"
#include "logs/words.h"

namespace headroom::logs {

// Immutable once made: any number of threads may use one.
class Matcher {
 public:
  // Keeps a reference: the table must outlive the matcher. Fails if an expression is none, or has
  // no literal part of at least three letters, which would make every line a candidate.
  static Result<Matcher> make(const knowledge::SignatureTable& table);

  // Where the next word that any signature needs stands; npos if the text has none.
  std::size_t find_candidate(std::string_view text, std::size_t from) const {
    return words_->find(text, from).begin;
  }

  // The signatures that a line matches, by their places in the table and in its order. No word
  // stands before `from`. `places` is emptied first; it is an argument so that it is made once.
  void match(std::string_view line, std::size_t from, std::vector<int>& places) const;

  struct Match {
    std::size_t begin = 0, end = 0;
    // Of what each matched; a group that took no part has no entry.
    std::vector<std::pair<std::string, std::string>> values;
  };
  // Requires: match() named the signature for this line.
  Match extract(int place, std::string_view line) const;

  const knowledge::SignatureTable& table() const { return *table_; }

 private:
  explicit Matcher(const knowledge::SignatureTable& table) : table_(&table) {}

  const RE2& expression(int place) const {
    return expressions_[static_cast<std::size_t>(place)]->GetRE2(0);
  }

  const knowledge::SignatureTable* table_;
  std::vector<std::unique_ptr<re2::FilteredRE2>> expressions_;
  std::unique_ptr<const Words> words_;
  std::vector<std::vector<int>> needed_by_;  // By word: places of signatures.
};

}  // namespace headroom::logs

// SPDX-License-Identifier: Apache-2.0
// All signatures, compiled. A text is searched once for words that the signatures cannot match
// without (parts of them, which RE2 finds by itself); only a line that has such a word is looked at
// further, and only for the signatures of which it has all the words.
#pragma once

#include <re2/filtered_re2.h>

#include <memory>
#include <stop_token>
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
  // no literal part of at least three letters, which would make every line a candidate; and soon
  // after `stop` was asked for, since it takes a tenth of a second.
  static Result<Matcher> make(const knowledge::SignatureTable& table,
                              const std::stop_token& stop = {});

  // The end of the next word that any signature needs; npos if the text has none.
  std::size_t find_candidate(std::string_view text, std::size_t from) const {
    return words_->find_end(text, from);
  }

  // The same for each line of a text that has one, in their order.
  void find_candidates(std::string_view lines, std::vector<std::size_t>& ends) const {
    words_->find_ends(lines, ends);
  }

  // The signatures that a line matches, by their places in the table and in its order. `places` is
  // emptied first; both are arguments so that they are made once.
  struct Scratch {
    std::vector<int> words;
    std::vector<std::uint8_t> has;  // By signature: which of its needs were met, as bits.
    std::vector<bool> is_done;      // By signature: not looked for any more; may be empty.
  };
  void match(std::string_view line, std::vector<int>& places, Scratch& scratch) const;

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
  // A signature needs one word of each of its sets.
  struct Need {
    int place = 0;         // Of the signature.
    std::uint8_t set = 0;  // As a bit.
  };
  std::vector<std::vector<Need>> needed_by_;  // By word.
  std::vector<std::uint8_t> needs_;           // By signature: all its sets.
};

}  // namespace headroom::logs

// SPDX-License-Identifier: Apache-2.0
// All signatures, compiled. A text is searched once for the words that the signatures need (their
// literal parts, which RE2 finds by itself); only a line that has such a word is looked at further.
#pragma once

#include <re2/filtered_re2.h>
#include <re2/set.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "knowledge/signatures.h"

namespace headroom::logs {

// Immutable once made: any number of threads may use one.
class Matcher {
 public:
  // Keeps a reference: the table must outlive the matcher. Fails if an expression is none, or has
  // no literal part of at least three letters, which would make every line a candidate.
  static Result<Matcher> make(const knowledge::SignatureTable& table);

  // Where the next word that any signature needs stands; npos if the text has none. May point
  // anywhere into that word.
  std::size_t find_candidate(std::string_view text, std::size_t from) const;

  // The signatures that a line matches, in the table's order.
  std::vector<const knowledge::Signature*> match(std::string_view line) const;

  struct Match {
    std::size_t begin = 0, end = 0;
    std::vector<std::pair<std::string, std::string>> values;
  };
  // Requires: match() named the signature for this line.
  Match extract(const knowledge::Signature& signature, std::string_view line) const;

 private:
  explicit Matcher(const knowledge::SignatureTable& table) : table_(&table) {}

  const knowledge::SignatureTable* table_;
  std::unique_ptr<re2::FilteredRE2> expressions_;
  std::unique_ptr<const RE2> any_word_;
  std::unique_ptr<re2::RE2::Set> words_;
};

}  // namespace headroom::logs

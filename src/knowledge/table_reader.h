// SPDX-License-Identifier: Apache-2.0
// Reads one row of a knowledge table; every mistake names its line, and a key that nobody read is
// one.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/document.h"

namespace headroom::knowledge {

class TableReader {
 public:
  // `place` is the JSON pointer of the row; the document must outlive the reader.
  TableReader(const Document& document, std::string place);

  bool has(const std::string& key) const { return row_.contains(key); }
  Result<std::string> text(const std::string& key);
  Result<std::string> text_or(const std::string& key, std::string fallback);
  Result<int> number(const std::string& key);
  Result<std::uint64_t> count(const std::string& key);
  Result<Json> table_or_none(const std::string& key);
  Result<Json> list_or_none(const std::string& key);  // Of any values.
  Result<bool> flag_or(const std::string& key, bool fallback);
  Result<std::vector<std::string>> texts_or_none(const std::string& key);
  Result<std::vector<double>> numbers_or_none(const std::string& key);
  Result<std::map<std::string, std::string>> named_texts(const std::string& key);

  template <class Enum>
  using Words = std::map<std::string, Enum>;
  template <class Enum>
  Result<Enum> word(const std::string& key, const Words<Enum>& words) {
    HEADROOM_TRY(const std::string value, text(key));
    const auto found = words.find(value);
    if (found == words.end()) return wrong(key, "one of its words");
    return found->second;
  }
  template <class Enum>
  Result<Enum> word_or(const std::string& key, Enum fallback, const Words<Enum>& words) {
    if (!has(key)) return fallback;
    return word(key, words);
  }
  template <class Enum>
  Result<std::map<std::string, Enum>> words(const std::string& key, const Words<Enum>& meaning) {
    HEADROOM_TRY(const auto texts, named_texts(key));
    std::map<std::string, Enum> values;
    for (const auto& [name, value] : texts) {
      const auto found = meaning.find(value);
      if (found == meaning.end()) return wrong(key, "one of its words");
      values[name] = found->second;
    }
    return values;
  }

  // The pointers of the rows of an array or a table under `key`; none if it is absent.
  std::vector<std::string> rows(const std::string& key);
  Error wrong(const std::string& key, const std::string& expected) const;
  // An error for the first key that nobody asked for.
  Status finish() const;

 private:
  const Json* find(const std::string& key);

  const Document& document_;
  std::string place_;
  Json row_;
  std::set<std::string> read_ = {"gfx"};
};

}  // namespace headroom::knowledge

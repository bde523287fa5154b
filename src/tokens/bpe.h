// SPDX-License-Identifier: Apache-2.0
// The byte-pair encoding of tokenizer.json ("model" of type BPE): words as token ids. The order of
// merges, bytes in place of unknown characters and unknown tokens are as in Hugging Face's
// tokenizers (models/bpe).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/document_reader.h"
#include "base/result.h"
#include "tokens/merges.h"
#include "tokens/vocabulary.h"

namespace headroom::tokens {

// One thread at a time: it remembers words.
class Bpe {
 public:
  struct Options {
    std::string unknown;          // The token for what is not in the vocabulary; empty: left out.
    bool fuses_unknown = false;   // One for several in a row.
    bool byte_fallback = false;   // <0x0A> and so on, if the vocabulary has all that are needed.
    bool ignores_merges = false;  // A word that is a token is that token.
  };

  struct PairMerge {
    Id left = -1, right = -1;
    Merge merge = {};
  };

  // Requires: the ids are the vocabulary's.
  static Bpe make(Options options, Vocabulary vocabulary, const std::vector<PairMerge>& merges);

  // Reads the object at "model". What is wrong is kept in the reader, and the answer then fit for
  // nothing.
  static Bpe read(TableReader& tokenizer);

  const Vocabulary& vocabulary() const { return vocabulary_; }

  // Appends the tokens of `word`, which is UTF-8. Characters that are not in the vocabulary are
  // left out where there is neither a byte nor an unknown token for them.
  void encode(std::string_view word, std::vector<Id>& ids);

 private:
  struct Remembered {
    std::string word;
    std::vector<Id> ids;
  };
  static constexpr std::size_t remembered_words = 1U << 16U;
  static constexpr std::size_t longest_remembered = 256;  // Bytes.

  bool read_vocabulary(TableReader& model);
  void read_merges(TableReader& model);
  bool add_merge(TableReader& model, std::string_view left, std::string_view right);
  void find_symbols();
  void note_border(std::string_view left, std::string_view right);

  Id find_character(char32_t code) const {
    return code < characters_.size() ? characters_[code] : -1;
  }
  bool find_borders(std::string_view word);
  void encode_remembered(std::string_view word, std::vector<Id>& ids);
  void encode_plainly(std::string_view word, std::vector<Id>& ids);
  void add_bytes_or_unknown(std::string_view character, std::optional<Id>& pending);

  Options options_;
  Vocabulary vocabulary_;
  Merges merges_;
  std::uint32_t merge_count_ = 0;
  std::vector<Id> characters_;   // By code point; −1: not in the vocabulary.
  std::array<Id, 256> bytes_{};  // <0x00> … <0xFF>; −1: not in the vocabulary.
  std::optional<Id> unknown_;
  // Pairs of characters with a border that some merge crosses. Everywhere else a long word may be
  // cut without changing a token.
  std::unordered_set<std::uint64_t> crossed_;
  bool may_cut_ = true;
  bool has_all_bytes_ = false;
  std::vector<std::size_t> borders_;
  WordMerger merger_;
  std::vector<Remembered> remembered_;
};

}  // namespace headroom::tokens

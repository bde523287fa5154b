// SPDX-License-Identifier: Apache-2.0
// The words that lines are looked at for: RE2 searches them all at once, without regard to case, as
// one alternation. Its automaton has as many states as a trie of the words has, so it stays in
// its memory however long the log is; RE2::Set does not, because it remembers each set of words
// seen on a line as a state of its own (docs/decisions/0004-log-reader.md).
#pragma once

#include <re2/re2.h>

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace headroom::logs {

// Immutable once made: any number of threads may use one.
class Words {
 public:
  struct Hit {
    std::size_t begin = std::string_view::npos;  // npos: no word.
    int word = -1;                               // By its place in the list that it was made of.
    std::size_t next = 0;                        // Where to search on.
  };

  // Lower-case, each once, none empty. nullptr if RE2 cannot hold them.
  static std::unique_ptr<const Words> make(std::vector<std::string> words);

  // The first word at or behind `from`; of several at one place the longest.
  Hit find(std::string_view text, std::size_t from) const;
  // What is found with a word: itself and those that lie within it.
  const std::vector<int>& within(int word) const {
    return entries_[static_cast<std::size_t>(word)].within;
  }

 private:
  struct Entry {
    std::vector<int> within;
    // From here on another word may begin that runs beyond the end of this one; else its length.
    std::size_t next = 0;
  };

  explicit Words(std::vector<std::string> words) : words_(std::move(words)) {}
  void find_overlaps();

  std::vector<std::string> words_;
  std::vector<Entry> entries_;
  std::unordered_map<std::string_view, int> places_;
  std::size_t longest_ = 0;
  std::unique_ptr<const RE2> any_;
};

}  // namespace headroom::logs

// SPDX-License-Identifier: Apache-2.0
// The words that lines are looked at for, all at once and without regard to case: the automaton of
// Aho and Corasick (1975), as a table with a row for each state. Our own, because with RE2 each
// word found costs as much as the line that it is in (docs/decisions/0005-log-reader.md).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::logs {

// Immutable once made: any number of threads may use one.
class Words {
 public:
  struct Word {
    std::string text;  // Lower-case (ASCII), not empty, no line end in it.
    bool is_key = false;
  };
  explicit Words(const std::vector<Word>& words);

  // Where the first key word at or behind `from` ends; npos if there is none.
  std::size_t find_end(std::string_view text, std::size_t from) const;
  // Of each line with a key word where its first one ends, in their order; `ends` is emptied first.
  // Each step of the automaton waits for the one before it, so several parts of the text are read
  // in turns.
  void find_ends(std::string_view lines, std::vector<std::size_t>& ends) const;
  // Adds the words of a line, by their places in the list, to `found`; some may be there twice.
  void find_all(std::string_view line, std::vector<int>& found) const;

 private:
  struct Trie;
  struct Lane;
  static constexpr std::size_t lane_count = 4;

  // Reads all lanes to the end of the shortest.
  void read_in_turns(std::string_view lines, std::array<Lane, lane_count>& lanes) const;
  void read_alone(std::string_view lines, Lane& lane) const;

  std::uint32_t next(std::uint32_t state, char byte) const {
    return next_[state + classes_[static_cast<unsigned char>(byte)]];
  }

  std::array<std::uint8_t, 256> classes_{};  // Of bytes that no word has: 0.
  std::uint32_t width_ = 1;                  // How many classes.
  // States are where their rows begin; those at which words end come behind the others, and those
  // at which key words end come last.
  std::vector<std::uint32_t> next_;
  std::uint32_t first_with_words_ = 0, first_with_key_ = 0;
  std::uint32_t start_ = 0;
  std::vector<std::uint32_t> found_begin_;  // By state with words: where its words begin in found_.
  std::vector<int> found_;
};

}  // namespace headroom::logs

// SPDX-License-Identifier: Apache-2.0
// The text of a unit or a quadlet as its assignments, each with the bytes that it stands in, so
// that an edit can replace a word and leave the rest. Syntax: systemd.syntax(7).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::deploy {

// A word of a value, without its quotes and escapes, and where it stands.
struct UnitWord {
  std::string text;
  std::size_t begin = 0, end = 0;
};

struct Assignment {
  std::string section;
  std::string key;
  std::vector<UnitWord> words;
  std::size_t line = 0;                        // From 1.
  std::size_t begin = 0, end = 0;              // Whole lines, the last line's end included.
  std::size_t value_begin = 0, value_end = 0;  // Without blanks around it.

  bool is_reset() const { return value_begin == value_end; }
};

class UnitText {
 public:
  explicit UnitText(std::string_view text);

  // All of a key in force: those after the last empty assignment, which forgets what was before.
  std::vector<const Assignment*> all(std::string_view section, std::string_view key) const;
  // The last of them; nullptr if there is none.
  const Assignment* last(std::string_view section, std::string_view key) const;
  // Where a new line of the section belongs: behind its last assignment, or its header. npos where
  // there is no such section.
  std::size_t end_of(std::string_view section) const;
  const std::vector<Assignment>& assignments() const { return assignments_; }

 private:
  struct Section {
    std::string name;
    std::size_t end = 0;
  };
  void read_assignment(std::string_view text, std::size_t begin, std::size_t end, std::size_t line);

  std::vector<Assignment> assignments_;
  std::vector<Section> sections_;
};

// The words of text[begin, end), with quotes and C escapes undone, as systemd splits them.
std::vector<UnitWord> split_unit_words(std::string_view text, std::size_t begin, std::size_t end);

// A word as it is written: in double quotes unless it needs none, '%' doubled, and '$' too where
// the setting expands variables.
enum class Dollar : bool { plain, expands };
std::string unit_word(std::string_view word, Dollar dollar);
// The other way round, of a word without its quotes.
std::string undo_expansions(std::string_view word, Dollar dollar);

}  // namespace headroom::deploy

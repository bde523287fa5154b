// SPDX-License-Identifier: Apache-2.0
// Settings in systemd's files and podman's quadlets: Environment= (systemd.exec(5)),
// DefaultEnvironment= and ManagerEnvironment= (systemd-system.conf(5)). A line that ends with a
// backslash goes on in the next one that is no comment (systemd.syntax(7)).
#include <array>

#include "base/text.h"
#include "facts/shell_words.h"
#include "plan/settings/setting_lines.h"

namespace headroom::plan {
namespace {

constexpr std::array keys = {"Environment", "DefaultEnvironment", "ManagerEnvironment"};

struct Line {
  std::size_t begin = 0, end = 0;  // Without its end.
  bool comment = false;
  bool continued = false;
};

struct Word {
  std::size_t begin = 0, end = 0;
  std::string text;
};

std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t next = std::min(text.find('\n', at), text.size());
    Line line{at, next};
    if (line.end > at && text[line.end - 1] == '\r') --line.end;
    const std::string_view content = trim(text.substr(at, line.end - at));
    line.comment = content.starts_with('#') || content.starts_with(';');
    line.continued = !line.comment && content.ends_with('\\');
    lines.push_back(line);
    at = next + 1;
  }
  return lines;
}

// Words and their bytes, quotes resolved; nothing where a quote stays open.
std::optional<std::vector<Word>> words_between(std::string_view text, std::size_t at,
                                               std::size_t end) {
  std::vector<Word> words;
  while (true) {
    while (at < end && (text[at] == ' ' || text[at] == '\t')) ++at;
    if (at >= end) return words;
    Word word{at, at, ""};
    char quote = 0;
    for (; at < end; ++at) {
      const char c = text[at];
      if (quote == 0 && (c == ' ' || c == '\t')) break;
      if (c == '\\' && at + 1 < end) {
        word.text += text[++at];
      } else if (quote == 0 && (c == '"' || c == '\'')) {
        quote = c;
      } else if (quote != 0 && c == quote) {
        quote = 0;
      } else {
        word.text += c;
      }
    }
    if (quote != 0) return std::nullopt;
    word.end = at;
    words.push_back(std::move(word));
  }
}

class Finder {
 public:
  explicit Finder(std::string_view text) : text_(text), lines_(lines_of(text)) {}

  SettingLines run() {
    for (std::size_t first = 0; first < lines_.size();) {
      std::size_t last = first;
      while (last + 1 < lines_.size() && (lines_[last].continued || last_is_inside(first, last))) {
        ++last;
      }
      if (!lines_[first].comment) read(first, last);
      first = last + 1;
    }
    return std::move(found_);
  }

 private:
  // A comment amid continued lines.
  bool last_is_inside(std::size_t first, std::size_t last) const {
    return lines_[last].comment && last > first && !lines_[first].comment;
  }

  // Where the value of one of the keys begins.
  std::optional<std::size_t> value_begin(const Line& line) const {
    const std::size_t begin = text_.find_first_not_of(" \t", line.begin);
    for (const std::string_view key : keys) {
      if (begin == std::string_view::npos || !text_.substr(begin).starts_with(key)) continue;
      const std::size_t equals = text_.find_first_not_of(" \t", begin + key.size());
      if (equals < line.end && text_[equals] == '=') return equals + 1;
    }
    return std::nullopt;
  }

  void read(std::size_t first, std::size_t last) {
    const auto value = value_begin(lines_[first]);
    if (!value) return;
    std::vector<Word> words;
    std::string shown;
    for (std::size_t i = first; i <= last; ++i) {
      const Line& line = lines_[i];
      if (line.comment) return;  // Cannot be kept in place: told instead.
      std::size_t end = line.end;
      if (line.continued) end = text_.rfind('\\', line.end);
      const auto more = words_between(text_, i == first ? *value : line.begin, end);
      if (!more) return;
      words.insert(words.end(), more->begin(), more->end());
      if (i > first) shown += ' ';
      shown += trim(text_.substr(line.begin, end - line.begin));
    }
    SettingStatement statement;
    statement.line_begin = lines_[first].begin;
    statement.members = words.size();
    statement.shows_itself = true;
    statement.when_empty = {lines_[first].begin, lines_[last].end,
                            std::string(taken_out_mark()) + ": " + shown};
    found_.statements.push_back(std::move(statement));
    for (std::size_t i = 0; i < words.size(); ++i) add(words, i, first);
  }

  void add(const std::vector<Word>& words, std::size_t i, std::size_t line) {
    const Word& word = words[i];
    const std::size_t length = facts::assigned_name_length(word.text);
    const std::size_t name = text_.find(word.text.substr(0, length), word.begin);
    if (length == 0 || name >= word.end) return;
    SettingPlace place;
    place.name = word.text.substr(0, length);
    place.value = word.text.substr(length + 1);
    place.line = static_cast<int>(line) + 1;
    place.form = facts::Form::unit;
    place.name_begin = name;
    place.cut = {word.begin, word.end, ""};
    if (i + 1 < words.size() && is_blank(word.end, words[i + 1].begin)) {
      place.cut.end = words[i + 1].begin;
    } else if (i > 0 && is_blank(words[i - 1].end, word.begin)) {
      place.cut.begin = words[i - 1].end;
    }
    place.statement = found_.statements.size() - 1;
    found_.places.push_back(std::move(place));
  }

  bool is_blank(std::size_t begin, std::size_t end) const {
    return text_.substr(begin, end - begin).find_first_not_of(" \t") == std::string_view::npos;
  }

  std::string_view text_;
  std::vector<Line> lines_;
  SettingLines found_;
};

}  // namespace

SettingLines find_in_unit(std::string_view text) {
  return Finder(text).run();
}

}  // namespace headroom::plan

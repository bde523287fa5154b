// SPDX-License-Identifier: Apache-2.0
#include "logs/restore_paste.h"

#include <algorithm>
#include <utility>

#include "logs/fold.h"
#include "logs/pasted_letters.h"
#include "logs/pasted_marks.h"

namespace headroom::logs {
namespace {

PastedLines split(std::string_view text) {
  PastedLines lines;
  for (std::uint64_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    line = line.substr(0, line.find_last_not_of('\r') + 1);
    lines.push_back({std::string(line), number, false});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// A shell takes a line that ends with a backslash together with the next one. Folders of Windows
// end so too, but not behind a blank.
bool join_continued_commands(PastedLines& lines) {
  constexpr std::size_t most_pieces = 40;
  PastedLines joined;
  joined.reserve(lines.size());
  std::size_t pieces = 0;
  for (PastedLine& line : lines) {
    const bool goes_on = !joined.empty() && pieces < most_pieces && !is_blank(line.text) &&
                         joined.back().text.ends_with(" \\");
    if (!goes_on) {
      joined.push_back(std::move(line));
      pieces = 0;
      continue;
    }
    std::string& text = joined.back().text;
    text.pop_back();
    text += line.text.substr(line.text.find_first_not_of(" \t"));
    ++pieces;
  }
  const bool is_changed = joined.size() != lines.size();
  lines = std::move(joined);
  return is_changed;
}

}  // namespace

std::optional<PastedLines> restore_paste(std::string_view text, const Matcher& matcher) {
  PastedLines lines = split(text);
  bool is_changed = mend_letters(lines, matcher);
  is_changed |= drop_fences(lines);
  is_changed |= split_panes(lines);
  take_off_padding(lines);
  // What was quoted may have been folded before and after, and be quoted again.
  constexpr int most_layers = 6;
  for (int layer = 0; layer < most_layers; ++layer) {
    if (take_off_marks(lines, Runs::whole) || unfold(lines, matcher) ||
        take_off_marks(lines, Runs::any)) {
      is_changed = true;
    } else {
      break;
    }
  }
  is_changed |= join_continued_commands(lines);
  if (!is_changed) return std::nullopt;
  return lines;
}

}  // namespace headroom::logs

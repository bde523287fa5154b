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

bool begins_with(std::string_view line, std::string_view head) {
  const std::size_t first = line.find_first_not_of(" \t");
  return first != std::string_view::npos && line.substr(first).starts_with(head);
}

// Whether a line is one of the sentences that stand behind "out of memory. Tried to allocate …".
bool goes_on_about_memory(std::string_view line) {
  const auto has = [line](std::string_view part) { return line.find(part) != std::string::npos; };
  return (begins_with(line, "GPU") && has(" has a total capacity of ")) ||
         (begins_with(line, "Process ") && has(" memory in use")) ||
         begins_with(line, "Including non-PyTorch memory") ||
         begins_with(line, "Of the allocated memory ");
}

// PyTorch's message about memory is one line. Programs' windows and people break it behind its
// sentences, and then its figures stand apart from the failure.
bool join_memory_message(PastedLines& lines) {
  PastedLines joined;
  joined.reserve(lines.size());
  bool is_begun = false;  // The last line ends in "out of memory."
  bool is_open = false;   // The last line is the message so far.
  for (PastedLine& line : lines) {
    const bool follows = is_begun ? begins_with(line.text, "Tried to allocate ")
                                  : is_open && goes_on_about_memory(line.text);
    if (follows) {
      std::string& text = joined.back().text;
      text.resize(text.find_last_not_of(" \t") + 1);
      text += ' ' + line.text.substr(line.text.find_first_not_of(" \t"));
      is_begun = false;
      is_open = true;
      continue;
    }
    const std::size_t last = line.text.find_last_not_of(" \t");
    is_begun = last != std::string::npos &&
               std::string_view(line.text).substr(0, last + 1).ends_with(" out of memory.");
    is_open = false;
    joined.push_back(std::move(line));
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
  is_changed |= join_memory_message(lines);
  if (!is_changed) return std::nullopt;
  return lines;
}

}  // namespace headroom::logs

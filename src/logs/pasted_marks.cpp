// SPDX-License-Identifier: Apache-2.0
#include "logs/pasted_marks.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <span>

namespace headroom::logs {
namespace {

using Run = std::span<PastedLine>;

re2::StringPiece piece(std::string_view text) {
  return {text.data(), text.size()};
}

bool matches(std::string_view text, const RE2& expression) {
  return RE2::FullMatch(piece(text), expression);
}

// The number at a line's beginning, and how much of the line it takes with what sets it apart.
struct Numbered {
  std::uint64_t number = 0;
  std::size_t size = 0;
  std::size_t form = 0;
};

std::optional<Numbered> find_number(std::string_view text) {
  static const std::array<RE2, 4> forms = {
      RE2("^(\\s{0,8}(\\d{1,6}) ?(?:\\||\u2502)(?: |$))"), RE2("^(\\s{0,8}(\\d{1,6}):(?: |$))"),
      RE2("^(\\s{0,4}L(\\d{1,6})(?::? |:?$))"), RE2("^(\\s{0,8}(\\d{1,6})(?:\t|$))")};
  if (text.empty() || text.find_first_of("0123456789") > 8) return std::nullopt;
  for (std::size_t form = 0; form < forms.size(); ++form) {
    re2::StringPiece whole, digits;
    if (!RE2::PartialMatch(piece(text), forms[form], &whole, &digits)) continue;
    Numbered found{0, whole.size(), form};
    std::from_chars(digits.data(), digits.data() + digits.size(), found.number);
    return found;
  }
  return std::nullopt;
}

// Lines that count up one by one from where `begin` is.
std::size_t end_of_numbered(const PastedLines& lines, std::size_t begin) {
  const auto first = find_number(lines[begin].text);
  if (!first) return begin;
  std::size_t end = begin + 1;
  for (; end < lines.size() && !lines[end].is_apart; ++end) {
    const auto next = find_number(lines[end].text);
    // A blank line may have lost what stands behind its number.
    const bool is_alike =
        next && (next->form == first->form || is_blank(lines[end].text.substr(next->size)));
    if (!is_alike || next->number != first->number + (end - begin)) break;
  }
  return end;
}

bool take_off_numbers(Run run) {
  const auto first = find_number(run.front().text);
  // Lists of devices count from 0, and numbers alone may be a program's output.
  if (run.size() < 2 || !first || first->number == 0) return false;
  const bool has_numbers_alone = std::all_of(run.begin(), run.end(), [](const PastedLine& line) {
    return line.text.find_first_not_of("0123456789 \t") == std::string::npos;
  });
  if (has_numbers_alone) return false;
  for (PastedLine& line : run) line.text.erase(0, find_number(line.text)->size);
  return true;
}

bool is_quoted(std::string_view text) {
  const std::size_t mark = text.find_first_not_of(' ');
  return mark <= 3 && text[mark] == '>';
}

// Python's prompt has the same letters. Behind it stands what somebody typed, which is neither
// indented nor output.
bool is_session(Run run) {
  static const RE2 output(R"(>>> ?(?: {2,}\S|Traceback|\d{4}-\d\d|\[).*)");
  const auto has_prompt = [](const PastedLine& line) { return line.text.starts_with(">>>"); };
  const auto is_output = [](const PastedLine& line) { return matches(line.text, output); };
  return std::all_of(run.begin(), run.end(), has_prompt) &&
         std::none_of(run.begin(), run.end(), is_output);
}

bool take_off_quotes(Run run) {
  if (run.size() < 2 || is_session(run)) return false;
  for (PastedLine& line : run) {
    const std::size_t mark = line.text.find('>');
    const bool has_blank = line.text.size() > mark + 1 && line.text[mark + 1] == ' ';
    line.text.erase(0, mark + (has_blank ? 2 : 1));
  }
  return true;
}

constexpr std::array<std::string_view, 3> bars = {"\u2502", "\u2503", "\u2551"};

std::size_t size_of_bar(std::string_view text, std::size_t at) {
  for (const std::string_view bar : bars) {
    if (text.substr(at).starts_with(bar)) return bar.size();
  }
  return 0;
}

bool is_framed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  return begin != std::string_view::npos && size_of_bar(text, begin) > 0;
}

// The bar on the left, and the one on the right if it is the frame's.
bool take_off_frame(Run run) {
  if (run.size() < 2) return false;
  for (PastedLine& line : run) {
    std::string& text = line.text;
    const std::size_t begin = text.find_first_not_of(' ');
    const std::size_t size = size_of_bar(text, begin);
    text.erase(0, begin + size + (text.size() > begin + size && text[begin + size] == ' ' ? 1 : 0));
    const std::size_t last = text.find_last_not_of(' ');
    if (last == std::string::npos || last < 2 || size_of_bar(text, last - 2) != 3) continue;
    text.resize(last - 2);
    text.resize(text.find_last_not_of(' ') + 1);
  }
  return true;
}

// Calls `take` for each run of lines that have something; only for runs that stand alone if asked.
template <class Has, class Take>
bool for_runs(PastedLines& lines, Runs runs, const Has& has, const Take& take) {
  bool is_changed = false;
  for (std::size_t begin = 0; begin < lines.size();) {
    if (!has(lines[begin].text)) {
      ++begin;
      continue;
    }
    std::size_t end = begin + 1;
    while (end < lines.size() && !lines[end].is_apart && has(lines[end].text)) ++end;
    const bool begins_part = begin == 0 || lines[begin].is_apart || is_blank(lines[begin - 1].text);
    const bool ends_part = end == lines.size() || lines[end].is_apart || is_blank(lines[end].text);
    if (runs == Runs::any || (begins_part && ends_part)) {
      is_changed |= take(Run(lines).subspan(begin, end - begin));
    }
    begin = end;
  }
  return is_changed;
}

bool take_off_all_numbers(PastedLines& lines, Runs runs) {
  bool is_changed = false;
  for (std::size_t begin = 0; begin < lines.size();) {
    const std::size_t end = std::max(end_of_numbered(lines, begin), begin + 1);
    const bool begins_part = begin == 0 || lines[begin].is_apart || is_blank(lines[begin - 1].text);
    const bool ends_part = end == lines.size() || lines[end].is_apart || is_blank(lines[end].text);
    const bool is_alone = begins_part && ends_part;
    if (is_alone || (runs == Runs::any && end - begin >= 3)) {
      is_changed |= take_off_numbers(Run(lines).subspan(begin, end - begin));
    }
    begin = end;
  }
  return is_changed;
}

// Blanks that stand before every line, as Markdown has them before code.
bool take_off_indent(PastedLines& lines) {
  constexpr std::size_t least = 4;
  std::size_t common = std::string::npos;
  for (const PastedLine& line : lines) {
    if (is_blank(line.text)) continue;
    common = std::min(common, line.text.find_first_not_of(' '));
  }
  if (common == std::string::npos || common < least) return false;
  for (PastedLine& line : lines) line.text.erase(0, std::min(common, line.text.size()));
  return true;
}

}  // namespace

bool drop_fences(PastedLines& lines) {
  static const RE2 fence(R"((?:\s*>)*\s*(?:```+|~~~+)[\w+.-]*\s*)"),
      tags(R"((?:\s*>)*\s*(?:</?(?:pre|code|details|summary|blockquote|div|p)(?: [^>]*)?>\s*)+)"),
      left_out(
          "(?:\\s*>)*\\s*(?:[\\[(<]? ?(?:\\.\\.\\.+|\u2026|snip(?:ped)?|cut|truncated|\\d+ lines "
          "(?:omitted|skipped|removed)|(?:output )?omitted) ?[\\])>]|\u2026|\\.\\.\\.\\.*|-+ "
          "?8<.*)\\s*"),
      status_line(R"(\[[\w.-]+\] ?\d+:\S.* "[^"]*" \d\d:\d\d \d\d-[A-Z][a-z]{2}-\d\d)");
  const std::size_t before = lines.size();
  PastedLines kept;
  bool is_apart = false;
  for (PastedLine& line : lines) {
    const bool is_mark =
        matches(line.text, fence) || matches(line.text, tags) || matches(line.text, status_line);
    const bool is_gap = !is_mark && matches(line.text, left_out);
    if (!is_mark) {
      line.is_apart = line.is_apart || is_apart || is_gap;
      kept.push_back(std::move(line));
    }
    is_apart = is_mark || is_gap;
  }
  lines = std::move(kept);
  return lines.size() != before;
}

bool split_panes(PastedLines& lines) {
  constexpr std::size_t narrowest = 20;
  std::map<std::size_t, std::size_t> bars_at;  // How many lines have one at a column.
  std::size_t with_text = 0;
  for (const PastedLine& line : lines) {
    if (is_blank(line.text)) continue;
    ++with_text;
    for (std::size_t at = 0; at < line.text.size(); ++at) {
      if (line.text[at] != '\xE2' || size_of_bar(line.text, at) == 0) continue;
      const std::size_t column = columns_of(std::string_view(line.text).substr(0, at));
      if (column >= narrowest) ++bars_at[column];
    }
  }
  const auto most = std::max_element(bars_at.begin(), bars_at.end(),
                                     [](auto& a, auto& b) { return a.second < b.second; });
  if (most == bars_at.end() || with_text < 3 || most->second * 10 < with_text * 9) return false;
  // A frame has a bar on either side.
  if (std::all_of(lines.begin(), lines.end(), [](const PastedLine& line) {
        return is_framed(line.text) || is_blank(line.text);
      })) {
    return false;
  }
  // Lines of the right pane stand behind all of the left one, and numbers go up.
  const std::uint64_t last = lines.back().number;
  PastedLines right;
  for (PastedLine& line : lines) {
    const std::size_t bar = place_of_column(line.text, most->first);
    if (bar >= line.text.size() || size_of_bar(line.text, bar) == 0) continue;
    right.push_back({line.text.substr(bar + size_of_bar(line.text, bar)), last, right.empty()});
    line.text.resize(bar);
    line.text.resize(line.text.find_last_not_of(' ') + 1);
  }
  lines.insert(lines.end(), right.begin(), right.end());
  return true;
}

bool take_off_marks(PastedLines& lines, Runs runs) {
  bool is_changed = take_off_all_numbers(lines, runs);
  is_changed |= for_runs(lines, runs, is_quoted, take_off_quotes);
  is_changed |= for_runs(lines, runs, is_framed, take_off_frame);
  is_changed |= take_off_indent(lines);
  return is_changed;
}

}  // namespace headroom::logs

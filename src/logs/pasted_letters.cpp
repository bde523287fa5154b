// SPDX-License-Identifier: Apache-2.0
#include "logs/pasted_letters.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace headroom::logs {
namespace {

using Replacement = std::pair<std::string_view, std::string_view>;

// The ampersand comes last: what it makes is not read again.
constexpr std::array entities = {
    Replacement{"&gt;", ">"},     Replacement{"&lt;", "<"},    Replacement{"&quot;", "\""},
    Replacement{"&#34;", "\""},   Replacement{"&#x22;", "\""}, Replacement{"&#39;", "'"},
    Replacement{"&#x27;", "'"},   Replacement{"&apos;", "'"},  Replacement{"&#x2F;", "/"},
    Replacement{"&#47;", "/"},    Replacement{"&#96;", "`"},   Replacement{"&#x60;", "`"},
    Replacement{"&nbsp;", " "},   Replacement{"&#160;", " "},  Replacement{"&ldquo;", "\""},
    Replacement{"&rdquo;", "\""}, Replacement{"&lsquo;", "'"}, Replacement{"&rsquo;", "'"},
    Replacement{"&#62;", ">"},    Replacement{"&#60;", "<"},   Replacement{"&amp;", "&"},
    Replacement{"&#38;", "&"},
};

constexpr std::array double_marks = {Replacement{"\u201C", "\""}, Replacement{"\u201D", "\""},
                                     Replacement{"\u201E", "\""}, Replacement{"\u00AB", "\""},
                                     Replacement{"\u00BB", "\""}};
constexpr std::array single_marks = {Replacement{"\u2018", "'"}, Replacement{"\u2019", "'"}};
// A blank that does not break, one of no width, the mark for what may be broken, and a byte order
// mark inside a text.
constexpr std::array blanks = {Replacement{"\u00A0", " "}, Replacement{"\u202F", " "},
                               Replacement{"\u200B", ""}, Replacement{"\u00AD", ""},
                               Replacement{"\uFEFF", ""}};

bool has_any(std::string_view text, std::span<const Replacement> replacements) {
  return std::any_of(replacements.begin(), replacements.end(), [&](const Replacement& one) {
    return text.find(one.first) != std::string_view::npos;
  });
}

bool replace(std::string& text, std::span<const Replacement> replacements) {
  bool is_changed = false;
  for (const auto& [from, to] : replacements) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
      text.replace(at, from.size(), to);
      at += to.size();
      is_changed = true;
    }
  }
  return is_changed;
}

// A page writes all its angle brackets as entities; a line with a bare one behind what marks a
// quotation was not made by one, so its entities are its own.
bool is_of_a_page(std::string_view text) {
  if (text.find('&') == std::string_view::npos || !has_any(text, entities)) return false;
  const std::size_t begin = text.find_first_not_of("> |\t");
  if (begin == std::string_view::npos) return false;
  const std::string_view rest = text.substr(begin);
  return rest.find('<') == std::string_view::npos && rest.find('>') == std::string_view::npos;
}

bool mend_control_letters(std::string& text) {
  static const RE2 colours(R"(\^\[\[[\d;]*[A-Za-z])");
  bool is_changed = text.find("^[[") != std::string::npos && RE2::GlobalReplace(&text, colours, "");
  while (text.ends_with("^M")) {
    text.resize(text.size() - 2);
    is_changed = true;
  }
  return is_changed;
}

// Colours whose first byte was lost on the way, "[36m": such a line also ends one.
bool mend_lost_colours(std::string& text) {
  static const RE2 colours(R"(\[\d{1,3}(?:;\d{1,3})*m)");
  const bool ends_one =
      text.find("[0m") != std::string::npos || text.find("[39m") != std::string::npos;
  return ends_one && RE2::GlobalReplace(&text, colours, "") > 0;
}

// IPython's and other prompts become those that everybody knows.
bool mend_prompts(std::string& text) {
  static const RE2 in(R"(^(\s*(?:[>|] ?)*)In \[[\d ]*\]: ?)"), more(R"(^(\s{2,})\.\.\.: ?)"),
      out(R"(^(\s*(?:[>|] ?)*)Out\[\d+\]: ?)"), shell("^\\s*(?:\u276F|\u279C +~?\\S*) +");
  if (text.find("In [") != std::string::npos && RE2::Replace(&text, in, "\\1>>> ")) return true;
  if (text.find("Out[") != std::string::npos && RE2::Replace(&text, out, "\\1")) return true;
  if (text.find("...:") != std::string::npos && RE2::Replace(&text, more, "... ")) return true;
  return text.find('\xE2') != std::string::npos && RE2::Replace(&text, shell, "$ ");
}

// A word processor makes one dash of the two before an option.
void mend_dashes(std::string& text) {
  static const RE2 dash("(^|[\\s=(\\[\"'])(?:\u2013|\u2014)([a-z])");
  if (text.find("\xE2\x80") != std::string::npos) RE2::GlobalReplace(&text, dash, "\\1--\\2");
}

// Markdown's editors write a backslash before each letter that would be a mark of theirs. A line
// with a bare one as well was not made by one, and a folder of Windows may end before a "_".
bool mend_escapes(std::string& text) {
  static const RE2 bare(R"((?:^|[^\\])_)"), escaped(R"(\\([_*#~<>\[\]`|]))"),
      rule(R"(^(?:\\\*){3,}\s*$)");
  static const RE2 within_name(R"(\w\\_|\\_\w)");
  const bool has_escapes = text.find("\\_") != std::string::npos &&
                           RE2::PartialMatch(text, within_name) && !RE2::PartialMatch(text, bare);
  return (has_escapes || RE2::FullMatch(text, rule)) &&
         RE2::GlobalReplace(&text, escaped, "\\1") > 0;
}

// "<br>", which a page has at the end of a line.
bool mend_breaks(std::string& text) {
  static const RE2 breaks(R"((?:<br ?/?>\s*)+$)");
  return text.find("<br") != std::string::npos && RE2::Replace(&text, breaks, "");
}

bool mend_marks(std::string& text, bool is_curly_text, const Matcher& matcher) {
  std::string mended = text;
  replace(mended, double_marks);
  replace(mended, single_marks);
  mend_dashes(mended);
  if (mended == text) return false;
  if (!is_curly_text) {
    std::vector<int> before, after;
    Matcher::Scratch scratch;
    matcher.match(text, before, scratch);
    matcher.match(mended, after, scratch);
    if (before == after) return false;
  }
  text = std::move(mended);
  return true;
}

std::size_t size_without_blanks(std::string_view text) {
  return text.find_last_not_of(' ') + 1;
}

}  // namespace

void take_off_padding(PastedLines& lines) {
  std::size_t width = 0;  // Of the lines that end with blanks.
  bool has_one_width = true, all_end_with_two = true;
  std::size_t narrowest_whole = std::string::npos;
  for (const PastedLine& line : lines) {
    if (is_blank(line.text)) continue;
    const std::size_t blanks_behind = line.text.size() - size_without_blanks(line.text);
    const std::size_t columns = columns_of(line.text);
    all_end_with_two &= blanks_behind == 2;
    if (blanks_behind == 0) {
      narrowest_whole = std::min(narrowest_whole, columns);
    } else {
      has_one_width &= width == 0 || width == columns;
      width = columns;
    }
  }
  const bool is_padded = width > 0 && has_one_width && narrowest_whole >= width;
  if (!is_padded && !all_end_with_two) return;
  for (PastedLine& line : lines) line.text.resize(size_without_blanks(line.text));
}

bool mend_letters(PastedLines& lines, const Matcher& matcher) {
  const bool is_curly_text = std::any_of(lines.begin(), lines.end(), [](const PastedLine& line) {
    return has_any(line.text, double_marks);
  });
  bool is_changed = false;
  for (PastedLine& line : lines) {
    std::string& text = line.text;
    const bool is_plain = std::all_of(text.begin(), text.end(), [](char byte) {
      return (static_cast<unsigned char>(byte) & 0x80U) == 0;
    });
    if (!is_plain) {
      is_changed |= replace(text, blanks);
      is_changed |= mend_marks(text, is_curly_text, matcher);
    }
    is_changed |= mend_breaks(text);
    if (text.find('\\') != std::string::npos) is_changed |= mend_escapes(text);
    if (is_of_a_page(text)) is_changed |= replace(text, entities);
    if (text.find('^') != std::string::npos) is_changed |= mend_control_letters(text);
    if (text.find('[') != std::string::npos) is_changed |= mend_lost_colours(text);
    is_changed |= mend_prompts(text);
  }
  return is_changed;
}

}  // namespace headroom::logs

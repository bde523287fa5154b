// SPDX-License-Identifier: Apache-2.0
#include "plan/boot/command_line_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace headroom::plan {
namespace {

bool is_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

std::size_t skip_word(std::string_view text, std::size_t at) {
  bool quoted = false;
  for (; at < text.size(); ++at) {
    if (text[at] == '"') quoted = !quoted;
    if (is_blank(text[at]) && !quoted) break;
  }
  return at;
}

// A word goes with the blanks before it; the first one with those after it, if a word follows.
WordSpan with_blanks(std::string_view text, WordSpan span) {
  std::size_t begin = span.begin;
  while (begin > 0 && is_blank(text[begin - 1])) --begin;
  if (begin > 0) return {begin, span.end};
  std::size_t end = span.end;
  while (end < text.size() && is_blank(text[end])) ++end;
  return end < text.size() ? WordSpan{span.begin, end} : span;
}

bool is_named(std::string_view word, const std::vector<std::string>& names) {
  const std::string name = argument_name(word);
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& other) { return argument_name(other) == name; });
}

void erase_word(std::string& text, WordSpan word) {
  const WordSpan whole = with_blanks(text, word);
  text.erase(whole.begin, whole.end - whole.begin);
}

void set_word(std::string& text, const std::string& word) {
  const std::string name = argument_name(word);
  // From the last to the first, so that the places of earlier words stay right.
  std::vector<WordSpan> spans = find_words(text);
  std::erase_if(spans, [&](WordSpan span) {
    return argument_name(std::string_view(text).substr(span.begin, span.end - span.begin)) != name;
  });
  for (std::size_t i = spans.size(); i-- > 1;) erase_word(text, spans[i]);
  if (!spans.empty()) {
    text.replace(spans[0].begin, spans[0].end - spans[0].begin, word);
    return;
  }
  const std::vector<WordSpan> words = find_words(text);
  if (!words.empty()) {
    text.insert(words.back().end, " " + word);
  } else {
    const bool more = !trim(text).empty();  // "-- …".
    const std::size_t at = std::min(text.find("--"), text.size());
    text.insert(more ? at : 0, more ? word + " " : word);
  }
}

}  // namespace

std::vector<WordSpan> find_words(std::string_view text) {
  std::vector<WordSpan> words;
  for (std::size_t at = 0; at < text.size();) {
    if (is_blank(text[at])) {
      ++at;
      continue;
    }
    const std::size_t end = skip_word(text, at);
    if (text.substr(at, end - at) == "--") break;
    words.push_back({at, end});
    at = end;
  }
  return words;
}

std::string argument_name(std::string_view word) {
  if (word.starts_with('"')) word.remove_prefix(1);
  std::string name(word.substr(0, word.find('=')));
  if (name.size() == word.size() && name.ends_with('"')) name.pop_back();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

std::vector<std::string> find_arguments(std::string_view text, std::string_view name) {
  std::vector<std::string> found;
  const std::string wanted = argument_name(name);
  for (const WordSpan span : find_words(text)) {
    const std::string_view word = text.substr(span.begin, span.end - span.begin);
    if (argument_name(word) == wanted) found.emplace_back(word);
  }
  return found;
}

std::string edit_words(std::string_view text, const ArgumentChange& change) {
  std::string edited = drop_words(text, change.drop);
  for (const std::string& word : change.set) set_word(edited, word);
  return edited;
}

std::string drop_words(std::string_view text, const std::vector<std::string>& names) {
  std::string edited(text);
  const std::vector<WordSpan> words = find_words(text);
  for (std::size_t i = words.size(); i-- > 0;) {
    const WordSpan span = words[i];
    if (is_named(text.substr(span.begin, span.end - span.begin), names)) erase_word(edited, span);
  }
  return edited;
}

Status check_words(const ArgumentChange& change) {
  for (const auto* words : {&change.set, &change.drop}) {
    for (const std::string& word : *words) {
      const std::vector<WordSpan> spans = find_words(word);
      const bool whole =
          spans.size() == 1 && spans[0].begin == 0 && spans[0].end == word.size() &&
          std::count(word.begin(), word.end(), '"') % 2 == 0 && !argument_name(word).empty() &&
          std::all_of(word.begin(), word.end(), [](char c) { return c >= ' ' && c <= '~'; });
      if (whole) continue;
      return Error{Errc::invalid,
                   fmt::format("expected one word of a kernel command line, such as "
                               "\"iommu=pt\"; found \"{}\"",
                               word),
                   "put a value with blanks in double quotes"};
    }
  }
  return Done{};
}

std::string describe(const ArgumentChange& change) {
  std::vector<std::string> parts;
  if (!change.set.empty()) parts.push_back("set " + join(change.set, " "));
  if (!change.drop.empty()) parts.push_back("drop " + join(change.drop, " "));
  return join(parts, ", ");
}

}  // namespace headroom::plan

// SPDX-License-Identifier: Apache-2.0
#include "base/fill_in.h"

#include <algorithm>

namespace headroom {
namespace {

// The name between two "@", the first of them at `at`; empty if there is none.
std::string_view name_at(std::string_view line, std::size_t at) {
  const std::size_t end = line.find('@', at + 1);
  if (end == std::string_view::npos) return {};
  return line.substr(at + 1, end - at - 1);
}

// The blank that the line is an example of; empty if it is none.
std::string_view example_of(std::string_view line) {
  const std::size_t mark = line.rfind("# @");
  if (mark == std::string_view::npos) return {};
  const std::string_view name = name_at(line, mark + 2);
  return mark + name.size() + 4 == line.size() ? name : std::string_view{};
}

std::string fill_words(std::string_view line, const Blanks& blanks) {
  std::string filled;
  while (!line.empty()) {
    const std::size_t at = std::min(line.find('@'), line.size());
    filled += line.substr(0, at);
    line.remove_prefix(at);
    const auto blank = line.empty() ? blanks.end() : blanks.find(name_at(line, 0));
    if (blank != blanks.end()) {
      filled += blank->second;
      line.remove_prefix(blank->first.size() + 2);
    } else if (!line.empty()) {
      filled += '@';
      line.remove_prefix(1);
    }
  }
  return filled;
}

}  // namespace

std::string fill_in(std::string_view text, const Blanks& blanks) {
  std::string filled;
  std::string_view before;  // What the line before was an example of.
  while (!text.empty()) {
    const std::size_t length = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, length);
    const std::string_view name = example_of(line);
    const auto blank = name.empty() ? blanks.end() : blanks.find(name);
    if (blank == blanks.end()) {
      filled += fill_words(line, blanks);
      if (length < text.size()) filled += '\n';
    } else if (name != before) {
      filled += blank->second;
    }
    before = name;
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  return filled;
}

}  // namespace headroom

// SPDX-License-Identifier: Apache-2.0
#include "logs/describe.h"

#include <algorithm>

namespace headroom::logs {

namespace {

constexpr char absent = '\x01';  // Stands for a value that is not there.

// One value may have several groups, one for each wording of the line: "used_mib", "used_mib_1".
std::string_view value_in_any_wording(const Observation& observation, std::string_view name) {
  for (const std::string_view wording : {"", "_1", "_2", "_3"}) {
    const std::string_view found = observation.value(std::string(name).append(wording));
    if (!found.empty()) return found;
  }
  return {};
}

// Words with a value that the line does not have are left out if they stand in brackets.
void drop_empty_brackets(std::string& text) {
  for (std::size_t at = text.find(absent); at != std::string::npos; at = text.find(absent, at)) {
    const std::size_t open = text.rfind('(', at), close = text.find(')', at);
    const bool is_within =
        open != std::string::npos && close != std::string::npos && text.find(')', open) == close;
    if (!is_within) {
      text.replace(at, 1, "an unknown value");
      continue;
    }
    const std::size_t begin = open > 0 && text[open - 1] == ' ' ? open - 1 : open;
    text.erase(begin, close + 1 - begin);
    at = begin;
  }
}

}  // namespace

std::string describe(const Observation& observation) {
  const std::string& words = observation.signature->says;
  if (words.empty()) return observation.text;
  std::string text;
  for (std::size_t at = 0; at < words.size();) {
    const std::size_t open = std::min(words.find('{', at), words.size());
    text += words.substr(at, open - at);
    at = open;
    // Names that follow one another without a blank are several wordings of one value.
    std::string values;
    while (at < words.size() && words[at] == '{') {
      const std::size_t close = std::min(words.find('}', at), words.size());
      values +=
          value_in_any_wording(observation, std::string_view(words).substr(at + 1, close - at - 1));
      at = std::min(close + 1, words.size());
    }
    if (at == open) break;
    text += values.empty() ? std::string(1, absent) : values;
  }
  drop_empty_brackets(text);
  return text;
}

}  // namespace headroom::logs

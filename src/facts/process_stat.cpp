// SPDX-License-Identifier: Apache-2.0
#include "facts/process_stat.h"

#include "base/text.h"

namespace headroom::facts {

std::optional<ProcessStat> parse_process_stat(std::string_view text) {
  text = trim(text);
  // The name stands in parentheses and may hold some: the last one closes it.
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
    return std::nullopt;
  }
  const auto pid = parse_u64(trim(text.substr(0, open)));
  const auto words = split_words(text.substr(close + 1));  // From field 3, the state, on.
  constexpr std::size_t first = 3;
  constexpr std::size_t start_time = 22;
  if (!pid || words.size() <= start_time - first || words[0].size() != 1) return std::nullopt;
  const auto parent = parse_u64(words[1]);
  const auto group = parse_u64(words[2]);
  const auto session = parse_u64(words[3]);
  const auto start = parse_u64(words[start_time - first]);
  if (!parent || !group || !session || !start) return std::nullopt;
  return ProcessStat{.pid = *pid,
                     .name = std::string(text.substr(open + 1, close - open - 1)),
                     .state = words[0].front(),
                     .parent = *parent,
                     .group = *group,
                     .session = *session,
                     .start_ticks = *start};
}

}  // namespace headroom::facts

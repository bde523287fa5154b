// SPDX-License-Identifier: Apache-2.0
#include "logs/describe.h"

namespace headroom::logs {

std::string describe(const Observation& observation) {
  const std::string& words = observation.signature->says;
  if (words.empty()) return observation.text;
  std::string text;
  for (std::size_t at = 0; at < words.size();) {
    const std::size_t open = words.find('{', at);
    const std::size_t close = open == std::string::npos ? open : words.find('}', open);
    if (close == std::string::npos) return text + words.substr(at);
    text += words.substr(at, open - at);
    const std::string_view value =
        observation.value(std::string_view(words).substr(open + 1, close - open - 1));
    text += value.empty() ? "?" : value;
    at = close + 1;
  }
  return text;
}

}  // namespace headroom::logs

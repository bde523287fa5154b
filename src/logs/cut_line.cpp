// SPDX-License-Identifier: Apache-2.0
#include "logs/cut_line.h"

#include "logs/decode.h"

namespace headroom::logs {

std::string cut_around(std::string_view line, std::size_t place) {
  if (line.size() <= longest_text) return to_shown(line, 3 * longest_text);
  constexpr std::size_t before = 120;
  std::size_t begin = place > before ? place - before : 0;
  // Whole characters.
  while (begin > 0 && begin < place && (static_cast<unsigned char>(line[begin]) & 0xC0U) == 0x80) {
    ++begin;
  }
  std::string part = to_shown(line.substr(begin), longest_text);
  if (begin > 0) part.insert(0, "…");
  if (begin + longest_text < line.size()) part += "…";
  return part;
}

}  // namespace headroom::logs

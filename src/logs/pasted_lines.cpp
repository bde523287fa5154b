// SPDX-License-Identifier: Apache-2.0
#include "logs/pasted_lines.h"

#include <algorithm>

namespace headroom::logs {
namespace {

bool begins_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80;
}

}  // namespace

std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

std::size_t place_of_column(std::string_view text, std::size_t column) {
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    if (!begins_character(text[at])) continue;
    if (column == 0) break;
    --column;
  }
  return at;
}

}  // namespace headroom::logs

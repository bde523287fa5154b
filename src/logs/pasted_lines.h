// SPDX-License-Identifier: Apache-2.0
// The lines of a text that somebody may have pasted, while it is put together again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::logs {

struct PastedLine {
  std::string text;
  std::uint64_t number = 0;  // In the text as it was pasted, from 1; of joined lines the first.
  bool is_apart = false;     // It does not go on with the line before it.
};

using PastedLines = std::vector<PastedLine>;

inline bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t") == std::string_view::npos;
}

// In characters, as a terminal shows them: UTF-8, each one column wide.
std::size_t columns_of(std::string_view text);

// Where the character at this column begins; the text's size if it is shorter.
std::size_t place_of_column(std::string_view text, std::size_t column);

}  // namespace headroom::logs

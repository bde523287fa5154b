// SPDX-License-Identifier: Apache-2.0
// Does to a log what terminals, chats, mails and pages do to it: folds its lines and dresses them.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::testing {

struct Folding {
  std::size_t width = 80;  // In characters.
  bool at_blanks = false;  // As mail and chat do; else in the middle of words, as a terminal does.
  std::size_t indent = 0;  // Of a hanging indent.
};

std::vector<std::string> split_lines(std::string_view text);

std::string fold(std::string_view log, const Folding& folding);

// Puts something around each line, or changes its letters.
struct Dress {
  const char* name;
  std::function<std::string(std::string_view line, std::size_t number)> line;
  std::string before{}, behind{};  // Lines of their own.
  bool is_mark_of_lines =
      true;  // Lines that are folded afterwards have it at their beginning alone.
};

const std::vector<Dress>& dresses();

std::string put_on(std::string_view log, const Dress& dress);

}  // namespace headroom::testing

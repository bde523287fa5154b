// SPDX-License-Identifier: Apache-2.0
#include "run/command_words.h"

namespace headroom::run {

std::string_view base_name(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);
}

bool is_assignment(std::string_view word) {
  const std::size_t equals = word.find('=');
  return word == "env" ||
         (equals != std::string_view::npos && equals > 0 &&
          word.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == equals);
}

std::size_t program_at(const std::vector<std::string>& words) {
  std::size_t at = 0;
  while (at < words.size() && is_assignment(words[at])) ++at;
  return at;
}

}  // namespace headroom::run

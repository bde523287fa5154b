// SPDX-License-Identifier: Apache-2.0
#include "command_line/completions.h"

#include <algorithm>

namespace headroom::command_line {

std::string quote_single(std::string_view text) {
  std::string quoted = "'";
  for (const char letter : text) {
    if (letter == '\'') {
      quoted += "'\\''";
    } else {
      quoted += letter;
    }
  }
  return quoted + "'";
}

std::string function_name(const Command& program) {
  std::string name = "_" + program.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

std::string last_word(const Command& command) {
  return command.name.substr(command.name.rfind(' ') + 1);
}

}  // namespace headroom::command_line

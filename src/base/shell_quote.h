// SPDX-License-Identifier: Apache-2.0
// Words for commands that people copy and shells read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headroom {

// A word that a POSIX shell takes as it is: in single quotes unless it needs none.
std::string shell_quote(std::string_view word);
// The same for what somebody else has named, behind a command's options: with "-- " in front where
// the command would take it as one more of them.
std::string shell_operand(std::string_view word);
// "--unit NAME", or "--unit=NAME" where the name would be taken as another option.
std::string shell_option(std::string_view option, std::string_view value);
// A command line, each word quoted where it needs to be.
std::string shell_line(const std::vector<std::string>& words);

}  // namespace headroom

// SPDX-License-Identifier: Apache-2.0
// Assignments in a shell file that is sourced (/etc/default/grub), found with their place in the
// text, so that one value can be changed and nothing else (POSIX XCU 2.9.1).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/boot/boot_steps.h"

namespace headroom::plan {

struct Assignment {
  std::string name;
  std::size_t begin = 0;  // Of the value as written, quotes included.
  std::size_t end = 0;
  bool appends = false;      // NAME+=value
  bool conditional = false;  // Inside of if, case, a loop or a function, or after && or ||.
};
// Those that last: "NAME=value" and "export NAME=value", not "NAME=value command".
std::vector<Assignment> find_assignments(std::string_view text);

// The value without its quotes. What the shell would expand stays as written, between the bytes
// 0x01 and 0x02.
std::string unquote_value(std::string_view raw);
// Whether the value uses what the variable was before: "$NAME …" or "${NAME} …".
bool uses_itself(std::string_view raw, std::string_view name);

// The value as written with the words of a kernel command line in it edited; its way of quoting is
// kept where it can be. Nothing where the value cannot be written safely.
std::optional<std::string> edit_value(std::string_view raw, const ArgumentChange& change);
// In double quotes.
std::string quote_value(std::string_view value);

}  // namespace headroom::plan

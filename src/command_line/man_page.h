// SPDX-License-Identifier: Apache-2.0
// A command as a page of section 1 of the manual.
#pragma once

#include <string>
#include <string_view>

#include "command_line/description.h"

namespace headroom::command_line {

struct Edition {
  std::string version;  // "0.1.0"
  std::string date;     // "2026-11-25"
};

// The name of a command's page: "headroom-check".
std::string page_name(const Command& command);

// `program` is the whole that the command belongs to, or the command itself.
std::string to_man_page(const Command& command, const Command& program, const Edition& edition);

}  // namespace headroom::command_line

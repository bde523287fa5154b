// SPDX-License-Identifier: Apache-2.0
// All files that are made from a program's command line, as they are installed.
#pragma once

#include <string>
#include <vector>

#include "command_line/description.h"
#include "command_line/man_page.h"

namespace headroom::command_line {

struct PageFile {
  std::string path;  // "man/headroom-check.1", "completions/bash/headroom"
  std::string text;
};

std::vector<PageFile> make_pages(const Command& program, const Edition& edition);

}  // namespace headroom::command_line

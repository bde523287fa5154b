// SPDX-License-Identifier: Apache-2.0
#include "command_line/pages.h"

#include "command_line/completions.h"

namespace headroom::command_line {

std::vector<PageFile> make_pages(const Command& program, const Edition& edition) {
  const std::string& name = program.name;
  std::vector<PageFile> files = {
      {"completions/bash/" + name, to_bash_completion(program)},
      {"completions/zsh/_" + name, to_zsh_completion(program)},
      {"completions/fish/" + name + ".fish", to_fish_completion(program)},
      {"man/" + page_name(program) + ".1", to_man_page(program, program, edition)}};
  for (const Command& command : program.commands)
    files.push_back({"man/" + page_name(command) + ".1", to_man_page(command, program, edition)});
  return files;
}

}  // namespace headroom::command_line

// SPDX-License-Identifier: Apache-2.0
#include "plan/boot/booted_with.h"

#include <fmt/format.h>

#include <algorithm>

#include "plan/boot/command_line_words.h"

namespace headroom::plan {

std::vector<std::string> find_old_words(const Change& change, std::string_view command_line) {
  std::vector<std::string> sentences;
  for (const std::string& word : change.boots_with) {
    const auto found = find_arguments(command_line, argument_name(word));
    if (std::find(found.begin(), found.end(), word) != found.end()) continue;
    sentences.push_back(fmt::format(
        "{} is not on the kernel command line of this boot. The old entry was started.", word));
  }
  for (const std::string& name : change.boots_without) {
    const auto found = find_arguments(command_line, argument_name(name));
    if (found.empty()) continue;
    sentences.push_back(fmt::format(
        "{} is still on the kernel command line of this boot. The old entry was started.",
        found.front()));
  }
  return sentences;
}

}  // namespace headroom::plan

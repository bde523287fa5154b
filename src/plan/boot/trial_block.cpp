// SPDX-License-Identifier: Apache-2.0
#include "plan/boot/trial_block.h"

#include <fmt/format.h>

#include <algorithm>

namespace headroom::plan {
namespace {

constexpr std::string_view first_line =
    "# headroom trial: taken out again by headroom confirm or headroom undo\n";
constexpr std::string_view last_line = "# end of headroom trial\n";

// For GRUB's script, whose quotes are the shell's.
std::string quote(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += R"('\'')";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

bool is_plain(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-_=.:,/").find(c) != std::string_view::npos;
  });
}

}  // namespace

std::string make_trial_block(const MenuEntry& entry, std::string_view body) {
  std::string header = "menuentry " + quote("Trial by headroom: " + entry.title);
  for (const std::string& option : entry.options) {
    header += " " + (is_plain(option) ? option : quote(option));
  }
  return fmt::format("{}{} --id {} {{\n{}}}\n{}", first_line, header, trial_id, body, last_line);
}

std::string with_trial_block(std::string_view text, std::string_view block) {
  std::string whole = without_trial_block(text);
  if (!whole.empty() && !whole.ends_with('\n')) whole += '\n';
  return whole + std::string(block);
}

std::string without_trial_block(std::string_view text) {
  std::string rest(text);
  for (;;) {
    const std::size_t begin = rest.find(first_line);
    if (begin == std::string::npos) return rest;
    const std::size_t end = rest.find(last_line, begin);
    if (end == std::string::npos) return rest;  // Not ours as we write it: left alone.
    rest.erase(begin, end + last_line.size() - begin);
  }
}

}  // namespace headroom::plan

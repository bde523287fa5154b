// SPDX-License-Identifier: Apache-2.0
#include "report/shell_words.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "base/printable.h"
#include "base/text.h"

namespace headroom::report {
namespace {

std::string quoted(const std::string& word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("-_./=,:+").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

}  // namespace

std::string to_shell(const std::vector<std::string>& words) {
  std::vector<std::string> all;
  for (const std::string& word : words) all.push_back(printable(quoted(word)));
  return join(all, " ");
}

}  // namespace headroom::report

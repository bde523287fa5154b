// SPDX-License-Identifier: Apache-2.0
#include "base/shell_quote.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/encoding.h"
#include "base/printable.h"

namespace headroom {
namespace {

// printf(1): "\ddd".
std::string octal(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
  return text;
}

bool is_shown(const CodePoint& code) {
  return code.is_valid && (code.value == '\n' || code.value == '\t' || !is_hidden(code.value));
}

}  // namespace

std::string shell_quote(std::string_view word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("%+,-./:=@_").find(c) != std::string_view::npos;
  });
  if (plain) return std::string(word);
  std::string quoted = "'";
  while (!word.empty()) {
    const CodePoint next = first_code_point(word);
    const std::string_view bytes = word.substr(0, next.length);
    if (!is_shown(next)) {
      quoted += "'\"$(printf '" + octal(bytes) + "')\"'";
    } else {
      quoted += bytes == "'" ? "'\\''" : bytes;
    }
    word.remove_prefix(next.length);
  }
  return quoted + "'";
}

std::string shell_operand(std::string_view word) {
  return (word.starts_with('-') ? "-- " : "") + shell_quote(word);
}

std::string shell_option(std::string_view option, std::string_view value) {
  return fmt::format("{}{}{}", option, value.starts_with('-') ? "=" : " ", shell_quote(value));
}

std::string shell_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + shell_quote(word);
  return line;
}

}  // namespace headroom

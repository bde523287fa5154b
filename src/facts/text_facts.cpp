// SPDX-License-Identifier: Apache-2.0
#include "facts/text_facts.h"

#include "base/text.h"

namespace headroom::facts {
namespace {

constexpr std::size_t seen_max = 80;  // Of what was not understood, that much is kept.

Missing not_understood(std::string_view text) {
  return {Why::not_understood, std::string(trim(text).substr(0, seen_max))};
}

Source line_of(const Text& text, std::string_view line) {
  return {text.source().path, 1, std::string(line)};
}

Fact<std::uint64_t> to_number(const Text& word) {
  if (!word) return word.absent<std::uint64_t>();
  const auto number = word->starts_with("0x") ? parse_hex(*word) : parse_u64(*word);
  if (!number) return {not_understood(*word), word.source()};
  return {*number, word.source()};
}

}  // namespace

Text parse_word(const Text& text) {
  if (!text) return text;
  const std::string_view word = trim(*text);
  return {std::string(word), line_of(text, word)};
}

Fact<std::uint64_t> parse_number(const Text& text) {
  return to_number(parse_word(text));
}

Fact<Bytes> parse_byte_count(const Text& text) {
  const auto number = parse_number(text);
  if (!number) return number.absent<Bytes>();
  return {Bytes{*number}, number.source()};
}

Text find_line(const Text& text, std::string_view key) {
  if (!text) return text;
  int number = 0;
  for (const std::string_view line : split_lines(*text)) {
    ++number;
    if (!line.starts_with(key)) continue;
    std::string_view rest = line.substr(key.size());
    if (rest.starts_with(':')) {
      rest.remove_prefix(1);
    } else if (!rest.empty() && rest.front() != ' ' && rest.front() != '\t') {
      continue;
    }
    return {std::string(trim(rest)), Source{text.source().path, number, std::string(trim(line))}};
  }
  return {Missing{Why::not_present, "no line \"" + std::string(key) + "\""}, text.source()};
}

Fact<std::uint64_t> find_number(const Text& text, std::string_view key) {
  return to_number(find_line(text, key));
}

}  // namespace headroom::facts

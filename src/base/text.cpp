// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <utility>

namespace headroom {
namespace {

template <class Number, class... Base>
std::optional<Number> parse_whole(std::string_view digits, Base... base) {
  Number number{};
  const char* end = digits.data() + digits.size();
  const auto [stop, code] = std::from_chars(digits.data(), end, number, base...);
  if (digits.empty() || code != std::errc{} || stop != end) return std::nullopt;
  return number;
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Rows of the table: the one before last, the last and the one that is being filled.
  std::vector<std::size_t> older(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(older, last);
    std::swap(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], older[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n\v\f";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::string to_lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string whole;
  for (const std::string& part : parts) {
    if (!whole.empty()) whole += separator;
    whole += part;
  }
  return whole;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0;;) {
    const std::size_t end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines = split(text, '\n');
  if (lines.back().empty()) lines.pop_back();
  for (std::string_view& line : lines) {
    if (line.ends_with('\r')) line.remove_suffix(1);
  }
  return lines;
}

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t begin = text.find_first_not_of(" \t"); begin != std::string_view::npos;) {
    const std::size_t end = text.find_first_of(" \t", begin);
    words.push_back(text.substr(begin, end - begin));
    begin = end == std::string_view::npos ? end : text.find_first_not_of(" \t", end);
  }
  return words;
}

std::optional<std::uint64_t> parse_u64(std::string_view digits) {
  return parse_whole<std::uint64_t>(digits, 10);
}

std::optional<std::int64_t> parse_i64(std::string_view digits) {
  return parse_whole<std::int64_t>(digits, 10);
}

std::optional<std::uint64_t> parse_hex(std::string_view digits) {
  if (digits.starts_with("0x") || digits.starts_with("0X")) digits.remove_prefix(2);
  return parse_whole<std::uint64_t>(digits, 16);
}

std::optional<double> parse_double(std::string_view digits) {
  return parse_whole<double>(digits);
}

std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates) {
  const std::string* best = nullptr;
  // One mistake in three letters; dashes are not letters that anybody mistypes.
  const std::size_t letters = word.size() - std::min(word.find_first_not_of('-'), word.size());
  std::size_t best_distance = letters / 3 + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = &candidate;
    }
  }
  return best == nullptr ? std::nullopt : std::optional<std::string>(*best);
}

}  // namespace headroom

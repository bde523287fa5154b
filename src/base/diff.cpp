// SPDX-License-Identifier: Apache-2.0
#include "base/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace headroom {
namespace {

constexpr std::size_t context = 3;
// The table of common subsequences grows with the product of the changed lines.
constexpr std::size_t table_max = std::size_t{16} << 20U;

using Lines = std::vector<std::string_view>;

// With their ends, so that a missing last one is a difference.
Lines lines_with_ends(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

struct Edit {
  char sign = ' ';  // ' ', '-' or '+'.
  std::string_view line;
};

// By the longest common subsequence, of what lies between the equal head and tail.
void append_middle(const Lines& before, const Lines& after, std::vector<Edit>& edits) {
  const std::size_t rows = before.size();
  const std::size_t columns = after.size();
  const bool computable = rows != 0 && columns != 0 && rows + 1 <= table_max / (columns + 1);
  std::vector<std::uint32_t> table(computable ? (rows + 1) * (columns + 1) : 0);
  const auto at = [&](std::size_t i, std::size_t j) -> std::uint32_t& {
    return table[i * (columns + 1) + j];
  };
  if (computable) {
    for (std::size_t i = rows; i-- > 0;) {
      for (std::size_t j = columns; j-- > 0;) {
        at(i, j) =
            before[i] == after[j] ? at(i + 1, j + 1) + 1 : std::max(at(i + 1, j), at(i, j + 1));
      }
    }
  }
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < rows || j < columns) {
    if (computable && i < rows && j < columns && before[i] == after[j]) {
      edits.push_back({' ', before[i++]});
      ++j;
    } else if (i < rows && (j == columns || !computable || at(i + 1, j) >= at(i, j + 1))) {
      edits.push_back({'-', before[i++]});
    } else {
      edits.push_back({'+', after[j++]});
    }
  }
}

std::vector<Edit> make_edits(const Lines& before, const Lines& after) {
  const std::size_t shorter = std::min(before.size(), after.size());
  std::size_t head = 0;
  while (head < shorter && before[head] == after[head]) ++head;
  std::size_t tail = 0;
  while (tail < shorter - head &&
         before[before.size() - 1 - tail] == after[after.size() - 1 - tail])
    ++tail;
  std::vector<Edit> edits;
  for (std::size_t i = 0; i < head; ++i) edits.push_back({' ', before[i]});
  const auto middle = [head, tail](const Lines& lines) {
    const auto skip = static_cast<std::ptrdiff_t>(head);
    return Lines(lines.begin() + skip, lines.end() - static_cast<std::ptrdiff_t>(tail));
  };
  append_middle(middle(before), middle(after), edits);
  for (std::size_t i = before.size() - tail; i < before.size(); ++i) {
    edits.push_back({' ', before[i]});
  }
  return edits;
}

// "3,7"; an empty range is said by the line before it.
std::string range(std::size_t first, std::size_t count) {
  if (count == 0) return fmt::format("{},0", first - 1);
  return count == 1 ? fmt::format("{}", first) : fmt::format("{},{}", first, count);
}

// edits[from, to) as one hunk; the numbers are those of its first lines, from 1.
std::string hunk(const std::vector<Edit>& edits, std::size_t from, std::size_t to,
                 std::size_t before_line, std::size_t after_line) {
  std::size_t before_count = 0;
  std::size_t after_count = 0;
  std::string body;
  for (std::size_t i = from; i < to; ++i) {
    before_count += edits[i].sign != '+' ? 1 : 0;
    after_count += edits[i].sign != '-' ? 1 : 0;
    body += edits[i].sign;
    body += edits[i].line;
    if (!edits[i].line.ends_with('\n')) body += "\n\\ No newline at end of file\n";
  }
  return fmt::format("@@ -{} +{} @@\n{}", range(before_line, before_count),
                     range(after_line, after_count), body);
}

}  // namespace

std::string unified_diff(std::string_view before, std::string_view after,
                         std::string_view before_name, std::string_view after_name) {
  if (before == after) return "";
  const auto edits = make_edits(lines_with_ends(before), lines_with_ends(after));
  std::string text = fmt::format("--- {}\n+++ {}\n", before_name, after_name);
  std::size_t before_line = 1;
  std::size_t after_line = 1;
  std::size_t done = 0;  // Edits that are printed or passed over, and counted in the line numbers.
  const auto advance = [&](std::size_t to) {
    for (; done < to; ++done) {
      before_line += edits[done].sign != '+' ? 1 : 0;
      after_line += edits[done].sign != '-' ? 1 : 0;
    }
  };
  for (std::size_t i = 0; i < edits.size(); ++i) {
    if (edits[i].sign == ' ') continue;
    // The hunk ends where twice the context is unchanged, or at the end.
    std::size_t last = i;
    for (std::size_t k = i; k < edits.size() && k <= last + 2 * context; ++k) {
      if (edits[k].sign != ' ') last = k;
    }
    const std::size_t from = std::max(done, i - std::min(i, context));
    const std::size_t to = std::min(edits.size(), last + 1 + context);
    advance(from);
    text += hunk(edits, from, to, before_line, after_line);
    advance(to);
    i = to - 1;
  }
  return text;
}

}  // namespace headroom

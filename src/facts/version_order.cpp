// SPDX-License-Identifier: Apache-2.0
// The order of kernel versions: runs of digits by their value, everything else letter by letter.
#include <algorithm>
#include <cctype>

#include "facts/boot_tools.h"

namespace headroom::facts {
namespace {

bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}

std::string_view take_digits(std::string_view& text) {
  std::size_t length = 0;
  while (length < text.size() && is_digit(text[length])) ++length;
  const std::string_view digits = text.substr(0, length);
  text.remove_prefix(length);
  return digits;
}

// < 0, 0 or > 0; of any length, so that no number overflows.
int compare_digits(std::string_view a, std::string_view b) {
  a.remove_prefix(std::min(a.find_first_not_of('0'), a.size()));
  b.remove_prefix(std::min(b.find_first_not_of('0'), b.size()));
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return a.compare(b);
}

bool is_candidate(std::string_view rest) {
  return rest.starts_with("-rc") || rest.starts_with("_rc") || rest.starts_with("rc") ||
         rest.starts_with("~");
}

}  // namespace

bool is_older(std::string_view version, std::string_view other) {
  while (!version.empty() && !other.empty()) {
    if (is_digit(version.front()) && is_digit(other.front())) {
      const int order = compare_digits(take_digits(version), take_digits(other));
      if (order != 0) return order < 0;
      continue;
    }
    if (is_candidate(version) != is_candidate(other)) return is_candidate(version);
    if (version.front() != other.front()) return version.front() < other.front();
    version.remove_prefix(1);
    other.remove_prefix(1);
  }
  if (version.empty()) return !other.empty() && !is_candidate(other);
  return is_candidate(version);
}

void sort_newest_first(std::vector<std::string>& versions) {
  std::sort(versions.begin(), versions.end(),
            [](const std::string& a, const std::string& b) { return is_older(b, a); });
}

}  // namespace headroom::facts

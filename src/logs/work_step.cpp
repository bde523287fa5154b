// SPDX-License-Identifier: Apache-2.0
#include "logs/work_step.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/text.h"

namespace headroom::logs {
namespace {

struct Counter {
  std::string_view word, unit;
  int fineness;
};
constexpr std::array<Counter, 14> counters = {{
    {"epoch", "epoch", 1},
    {"step", "step", 3},
    {"steps", "step", 3},
    {"global_step", "step", 3},
    {"iter", "iteration", 3},
    {"iteration", "iteration", 3},
    {"it", "iteration", 2},
    {"batch", "batch", 3},
    {"sample", "sample", 2},
    {"image", "image", 2},
    {"prompt", "prompt", 2},
    {"request", "request", 2},
    {"call", "call", 2},
    {"round", "round", 2},
}};
constexpr int of_a_bar = 2;
constexpr std::size_t most_digits = 15;

bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}
bool is_word(char letter) {
  return (letter >= 'a' && letter <= 'z') || letter == '_';
}

// The whole number that begins here; `end` is where it ends. Nothing if it is a fraction.
std::optional<std::uint64_t> whole_number(std::string_view text, std::size_t begin,
                                          std::size_t& end) {
  end = begin;
  while (end < text.size() && is_digit(text[end])) ++end;
  if (end == begin || end - begin > most_digits) return std::nullopt;
  const bool is_fraction =
      end + 1 < text.size() && (text[end] == '.' || text[end] == 'e') && is_digit(text[end + 1]);
  if (is_fraction) return std::nullopt;
  return parse_u64(text.substr(begin, end - begin));
}

struct Found {
  WorkStep step;
  int fineness = 0;
};

void take(Found& best, std::string_view unit, std::uint64_t number, int fineness) {
  if (fineness > best.fineness) best = {{unit, number}, fineness};
}

// A word, then signs or blanks, then a number.
void look_at_word(std::string_view text, std::size_t begin, std::size_t end, Found& best) {
  const std::string_view word = text.substr(begin, end - begin);
  const auto* known = std::find_if(counters.begin(), counters.end(),
                                   [&](const Counter& one) { return one.word == word; });
  if (known == counters.end()) return;
  constexpr std::size_t longest_gap = 6;
  std::size_t at = end;
  while (at < text.size() && at - end < longest_gap &&
         std::string_view(" \t:=#[('\"/").find(text[at]) != std::string_view::npos) {
    ++at;
  }
  std::size_t number_end = 0;
  if (at == end) return;
  if (const auto number = whole_number(text, at, number_end)) {
    take(best, known->unit, *number, known->fineness);
  }
}

// "20/500]" and "35/1000 [": how bars count.
void look_at_fraction(std::string_view text, std::size_t begin, Found& best, std::size_t& end) {
  const auto number = whole_number(text, begin, end);
  if (!number || end >= text.size() || text[end] != '/') return;
  std::size_t whole_end = 0;
  const auto whole = whole_number(text, end + 1, whole_end);
  if (!whole || *number > *whole) return;
  end = whole_end;
  const std::string_view rest = text.substr(whole_end);
  const bool is_bar = rest.starts_with(" [") || rest.starts_with("]");
  if (is_bar) take(best, "iteration", *number, of_a_bar);
}

}  // namespace

std::optional<WorkStep> find_work_step(std::string_view lower) {
  Found best;
  std::size_t at = 0;
  while (at < lower.size()) {
    std::size_t end = at + 1;
    if (is_word(lower[at])) {
      while (end < lower.size() && is_word(lower[end])) ++end;
      look_at_word(lower, at, end, best);
    } else if (is_digit(lower[at])) {
      look_at_fraction(lower, at, best, end);
      while (end < lower.size() && is_digit(lower[end])) ++end;
    }
    at = std::max(end, at + 1);
  }
  if (best.fineness == 0) return std::nullopt;
  return best.step;
}

}  // namespace headroom::logs

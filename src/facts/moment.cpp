// SPDX-License-Identifier: Apache-2.0
#include "facts/moment.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/text.h"

namespace headroom::facts {
namespace {

constexpr std::size_t longest_moment = 64;

struct Parts {
  std::optional<std::uint64_t> year, month, day;
  std::string clock;  // "09:04:47".
  bool is_afternoon = false, is_morning = false, is_utc = false;
};

std::optional<std::uint64_t> parse_month(std::string_view word) {
  static constexpr std::array<std::string_view, 12> months = {
      "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"};
  if (word.size() < 3) return std::nullopt;
  const std::string lower = to_lower(word.substr(0, 3));
  const auto found = std::find(months.begin(), months.end(), lower);
  if (found == months.end()) return std::nullopt;
  return static_cast<std::uint64_t>(found - months.begin()) + 1;
}

bool is_clock(std::string_view word) {
  return word.size() >= 8 && word[2] == ':' && word[5] == ':' && parse_u64(word.substr(0, 2)) &&
         parse_u64(word.substr(3, 2)) && parse_u64(word.substr(6, 2));
}

bool names_utc(std::string_view word) {
  return word == "UTC" || word == "GMT" || word == "Z" || word == "+00" || word == "+0000" ||
         word == "+00:00";
}

void take_word(std::string_view word, Parts& parts) {
  const auto number = parse_u64(word);
  if (is_clock(word)) {
    parts.clock = word.substr(0, 8);
  } else if (number && word.size() == 4) {
    parts.year = number;
  } else if (number && *number >= 1 && *number <= 31) {
    parts.day = number;
  } else if (names_utc(word)) {
    parts.is_utc = true;
  } else if (word == "PM" || word == "AM") {
    (word == "PM" ? parts.is_afternoon : parts.is_morning) = true;
  } else if (const auto month = parse_month(word)) {
    parts.month = month;
  }
}

std::string clock_of(const Parts& parts) {
  const std::uint64_t hour = *parse_u64(std::string_view(parts.clock).substr(0, 2));
  if (parts.is_afternoon && hour < 12)
    return fmt::format("{:02}{}", hour + 12, parts.clock.substr(2));
  if (parts.is_morning && hour == 12) return "00" + parts.clock.substr(2);
  return parts.clock;
}

std::string moment_in(std::uint64_t year, const Parts& parts) {
  return parse_iso_moment(
      fmt::format("{:04}-{:02}-{:02}T{}", year, *parts.month, *parts.day, clock_of(parts)));
}

// Syslog leaves the year out.
std::string last_such(const Parts& parts, std::string_view now) {
  const auto this_year = parse_u64(now.substr(0, 4));
  if (!parse_day(now) || !this_year) return "";
  const std::string moment = moment_in(*this_year, parts);
  // A log of today may be some hours ahead of `now`, in another zone.
  const bool is_past = !moment.empty() && moment.substr(0, 10) <= now.substr(0, 10);
  return is_past ? moment : moment_in(*this_year - 1, parts);
}

std::string parse_words(std::string_view text, std::string_view now) {
  std::string plain(text);
  std::replace_if(
      plain.begin(), plain.end(), [](char c) { return c == ',' || c == '[' || c == ']'; }, ' ');
  Parts parts;
  for (const std::string_view word : split_words(plain)) take_word(word, parts);
  if (!parts.month || !parts.day || parts.clock.empty()) return "";
  std::string moment = parts.year ? moment_in(*parts.year, parts) : last_such(parts, now);
  return parts.is_utc ? moment.substr(0, 10) : moment;
}

}  // namespace

std::optional<std::chrono::sys_days> parse_day(std::string_view text) {
  if (text.size() < 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  const auto year = parse_u64(text.substr(0, 4));
  const auto month = parse_u64(text.substr(5, 2));
  const auto day = parse_u64(text.substr(8, 2));
  if (!year || !month || !day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date);
}

std::string parse_iso_moment(std::string_view text) {
  text = trim(text);
  if (!parse_day(text)) return "";
  std::string_view clock = text.substr(10);
  if (clock.starts_with('T')) clock.remove_prefix(1);
  clock = trim(clock);
  if (clock.size() < 5 || clock[2] != ':') return "";
  const bool has_seconds = clock.size() >= 8 && clock[5] == ':';
  const auto hour = parse_u64(clock.substr(0, 2));
  const auto minute = parse_u64(clock.substr(3, 2));
  const auto second = has_seconds ? parse_u64(clock.substr(6, 2)) : 0;
  if (!hour || !minute || !second || *hour > 23 || *minute > 59 || *second > 60) return "";
  return std::string(text.substr(0, 10)) + "T" + std::string(clock.substr(0, 5)) +
         (has_seconds ? std::string(clock.substr(5, 3)) : ":00");
}

std::string parse_log_moment(std::string_view text, std::string_view now) {
  text = trim(text).substr(0, longest_moment);
  if (text.starts_with('[')) text.remove_prefix(1);
  if (text.ends_with(']')) text.remove_suffix(1);
  std::string iso(text);
  if (iso.size() > 10 && iso[4] == '/' && iso[7] == '/') iso[4] = iso[7] = '-';
  const std::string moment = parse_iso_moment(iso);
  if (moment.empty()) return parse_words(text, now);
  const bool is_utc = text.ends_with('Z') || text.ends_with("+00:00") || text.ends_with("+0000") ||
                      text.ends_with(" UTC");
  return is_utc ? moment.substr(0, 10) : moment;
}

}  // namespace headroom::facts

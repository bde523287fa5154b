// SPDX-License-Identifier: Apache-2.0
// Small text functions that the standard library lacks. All are pure and independent of the locale.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

std::string_view trim(std::string_view text);
std::string to_lower(std::string_view text);
std::string join(const std::vector<std::string>& parts, std::string_view separator);

// The lines of a text, without their ends ("\n" or "\r\n"); a last line without an end counts.
std::vector<std::string_view> split_lines(std::string_view text);
// The words between runs of blanks and tabs.
std::vector<std::string_view> split_words(std::string_view text);
std::vector<std::string_view> split(std::string_view text, char separator);

// The whole text as a number, or nothing: blanks around it, signs and rests are not accepted. A
// number that does not fit is nothing, never a wrapped one.
std::optional<std::uint64_t> parse_u64(std::string_view digits);
std::optional<std::int64_t> parse_i64(std::string_view digits);
std::optional<std::uint64_t> parse_hex(std::string_view digits);  // With or without 0x.
std::optional<double> parse_double(std::string_view digits);

// How many letters must be put in, left out or replaced to make one of the other.
std::size_t edit_distance(std::string_view a, std::string_view b);
// The candidate nearest to `word` by edit distance, if it is near enough to be a typing error.
std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates);

}  // namespace headroom

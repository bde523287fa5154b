// SPDX-License-Identifier: Apache-2.0
// What the pictures of memory have in common: where the plot lies within one, and its lines of
// round numbers.
#pragma once

#include <cstdint>
#include <string_view>

namespace headroom::report {

// Margins around the plot, in the picture's units.
inline constexpr double chart_left = 80;
inline constexpr double chart_right = 14;
inline constexpr double chart_top = 30;
inline constexpr double chart_bottom = 34;

// How wide a label of the page's 12 px text is at most, in a wide font: units of the picture.
double label_width(std::string_view label);
double bold_label_width(std::string_view label);

// A round number of bytes that leaves at most five lines above zero.
std::uint64_t tick_step(std::uint64_t most);
// The same for other numbers: 1, 2 or 5 times a power of ten that divides `span` into five at most.
// Requires: 0 < span < 10³⁰⁰.
double number_step(double span);
// The same for events: 1, 2 or 5 times a power of ten.
std::uint64_t event_step(std::uint64_t most);

}  // namespace headroom::report

// SPDX-License-Identifier: Apache-2.0
#include "report/chart_axis.h"

#include <cmath>
#include <initializer_list>

namespace headroom::report {

// Of DejaVu Sans, which is wider than most fonts.
double label_width(std::string_view label) {
  constexpr std::string_view narrow = " !'(),.:;I[]fijlrt|";
  constexpr std::string_view broad = "MWmw%@";
  double width = 0;
  for (const char letter : label) {
    const auto byte = static_cast<unsigned char>(letter);
    if ((byte & 0xC0U) == 0x80U) continue;  // It goes on with a letter of several bytes.
    const bool is_wide = byte >= 0x80U || broad.find(letter) != std::string_view::npos;
    width += is_wide ? 11.8 : narrow.find(letter) != std::string_view::npos ? 4.9 : 7.8;
  }
  return width;
}

double bold_label_width(std::string_view label) {
  constexpr double bolder = 1.1;  // The same font in bold, over its regular weight.
  return bolder * label_width(label);
}

std::uint64_t tick_step(std::uint64_t most) {
  std::uint64_t unit = 1;
  while (unit <= most / 1024) unit *= 1024;
  for (const std::uint64_t half : {unit / 4, unit / 2}) {
    if (half > 0 && most / half < 6) return half;
  }
  for (std::uint64_t scale = unit;; scale *= 10) {
    for (const std::uint64_t factor : {1, 2, 5}) {
      if (most / (scale * factor) < 6) return scale * factor;
    }
  }
}

double number_step(double span) {
  constexpr double most_lines = 5;
  const double unit = std::pow(10.0, std::floor(std::log10(span / most_lines)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (span / (unit * factor) <= most_lines) return unit * factor;
  }
  return unit * 10;
}

std::uint64_t event_step(std::uint64_t most) {
  for (std::uint64_t scale = 1;; scale *= 10) {
    for (const std::uint64_t factor : {1, 2, 5}) {
      if (most / (scale * factor) < 8) return scale * factor;
    }
  }
}

}  // namespace headroom::report

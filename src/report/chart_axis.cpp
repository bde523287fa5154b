// SPDX-License-Identifier: Apache-2.0
#include "report/chart_axis.h"

#include <initializer_list>

#include "report/style.h"

namespace headroom::report {

double label_width(std::string_view label) {
  constexpr double letter_width = 6.9;
  return letter_width * static_cast<double>(display_width(label));
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

std::uint64_t event_step(std::uint64_t most) {
  for (std::uint64_t scale = 1;; scale *= 10) {
    for (const std::uint64_t factor : {1, 2, 5}) {
      if (most / (scale * factor) < 8) return scale * factor;
    }
  }
}

}  // namespace headroom::report

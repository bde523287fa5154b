// SPDX-License-Identifier: Apache-2.0
#include "report/step_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace headroom::report {
namespace {

constexpr double least_width = 1;  // Of a rise, in the picture's units.

}  // namespace

void StepPath::add(double x, double y) {
  std::string text = fmt::format("{:.1f}", y);
  if (text == y_text_) return;
  if (path_.empty()) {
    path_ = fmt::format("M{:.1f} {}", x, text);
    drawn_to_ = rise_ = x;
  } else {
    const bool falls = y > y_;
    double at = std::max(x, drawn_to_);
    // Never later than one unit, so that what is delayed does not add up.
    if (falls) at = std::max(at, std::min(rise_, x) + least_width);
    if (!falls) rise_ = at;
    path_ += fmt::format("H{:.1f}V{}", at, text);
    drawn_to_ = at;
  }
  y_ = y;
  y_text_ = std::move(text);
}

std::string StepPath::finish(double x) {
  if (path_.empty()) return "";
  return std::move(path_) + fmt::format("H{:.1f}", std::max(x, drawn_to_));
}

}  // namespace headroom::report

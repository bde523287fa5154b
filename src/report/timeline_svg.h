// SPDX-License-Identifier: Apache-2.0
// A timeline as a picture: device memory upwards, the step's allocations and frees to the right,
// components stacked on the driver's context, what the allocator holds above them, and the
// capacity. The colours are classes (component-weights, …) that the page defines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/document_fwd.h"
#include "estimate/timeline.h"

namespace headroom::report {

struct Chart {
  const estimate::Timeline& timeline;
  std::string id;     // Of the elements; unique in the page.
  std::string title;  // What the picture shows, for those who do not see it.
  std::optional<std::uint64_t> capacity_bytes;
  std::uint64_t context_bytes = 0;
  double width = 960;
  double height = 420;
  bool small = false;  // No text inside but the axis'.
};

// One <svg>.
std::string to_svg(const Chart& chart);

// What the page's script needs to answer a pointer: the points, their names, and where the plot
// lies within the picture.
Json hover_data(const Chart& chart);

}  // namespace headroom::report

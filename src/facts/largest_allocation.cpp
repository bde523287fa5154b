// SPDX-License-Identifier: Apache-2.0
#include "facts/largest_allocation.h"

#include <fmt/format.h>

namespace headroom::facts {
namespace {

std::string explain(const Rung& rung) {
  const Source& source = rung.limit.source();
  const bool formula = source.path == "computed" || source.path == "predicted";
  const std::string origin = formula ? source.text : source.path;
  if (rung.kind == RungKind::one_allocation) {
    return "HIP limits one allocation to " + origin;
  }
  return fmt::format("the rung {} allows {} ({})", rung.name,
                     rung.at_most ? "at most that" : "no more", origin);
}

}  // namespace

std::optional<LargestAllocation> find_largest_allocation(const Ladder& ladder) {
  std::optional<LargestAllocation> smallest;
  for (const Rung& rung : ladder.rungs) {
    const bool counts = rung.applies && rung.kind != RungKind::free && rung.limit;
    if (!counts || (smallest && *rung.limit >= smallest->bytes)) continue;
    smallest = LargestAllocation{*rung.limit, rung.name, explain(rung)};
  }
  return smallest;
}

}  // namespace headroom::facts

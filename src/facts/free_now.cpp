// SPDX-License-Identifier: Apache-2.0
#include "facts/free_now.h"

namespace headroom::facts {
namespace {

std::optional<Bytes> left_of(const Rung& rung) {
  if (!rung.applies || !rung.limit) return std::nullopt;
  switch (rung.kind) {
    case RungKind::free:
      return *rung.limit;
    case RungKind::capacity:
      if (rung.used) return saturating_sub(*rung.limit, *rung.used);
      break;
    case RungKind::one_allocation:
      break;
  }
  return std::nullopt;
}

}  // namespace

std::optional<FreeNow> find_free_now(const Ladder& ladder) {
  const Rung* binding = ladder.binding();
  const std::optional<Bytes> at_most = binding == nullptr ? std::nullopt : left_of(*binding);
  if (!at_most) return std::nullopt;
  FreeNow least{*at_most, binding->name};
  for (const Rung& rung : ladder.rungs) {
    const std::optional<Bytes> left = left_of(rung);
    if (left && *left < least.bytes) least = {*left, rung.name};
  }
  return least;
}

}  // namespace headroom::facts

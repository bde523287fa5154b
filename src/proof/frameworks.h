// SPDX-License-Identifier: Apache-2.0
// The frameworks that a user's Python may have and that python/headroom_steps knows.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::proof {

struct Framework {
  std::string_view id;    // Of its module: "torch".
  std::string_view name;  // For people: "PyTorch".
  bool trains = true;
};

std::span<const Framework> frameworks();
// Those that were told, in the order of frameworks(). Names that are none of them count nothing.
std::vector<Framework> known_among(const std::vector<std::string>& told);

}  // namespace headroom::proof

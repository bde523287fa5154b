// SPDX-License-Identifier: Apache-2.0
// Versions of transformers, as far as a step's memory depends on them.
#pragma once

#include <compare>
#include <string_view>

namespace headroom::estimate::transformers {

struct Version {
  unsigned major = 0;
  unsigned minor = 0;
  auto operator<=>(const Version&) const = default;
};

// "4.48.1" → 4.48; anything that is no number ("newest") is newer than all.
Version parse_version(std::string_view text);

// Where ForCausalLMLoss came, which widens the logits itself while the model still holds its own
// (src/transformers/loss/loss_utils.py; before, the model's forward replaced its logits).
inline constexpr Version loss_function{4, 46};
// From here on labels are shifted, not logits: no shifted copy.
inline constexpr Version shifted_labels{4, 51};

// From here on a cache begins empty (cache_utils.py, DynamicLayer) and copies what it is given.
inline constexpr Version joined_cache{4, 54};

}  // namespace headroom::estimate::transformers

// SPDX-License-Identifier: Apache-2.0
// What is wrong with device masks that one program sees: indices that do not exist, masks that hide
// everything, two that say different things. Which GPUs a mask leaves, facts/visible_devices says.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "facts/visible_devices.h"

namespace headroom::findings {

struct MaskProblem {
  std::string name;  // The mask that is to blame.
  std::string why;
  bool hides_all = false;
};
// `gpus`: how many the machine has; nothing where that is not known.
std::vector<MaskProblem> check_masks(const std::vector<facts::Mask>& masks,
                                     std::optional<std::size_t> gpus);

}  // namespace headroom::findings

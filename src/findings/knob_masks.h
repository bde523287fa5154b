// SPDX-License-Identifier: Apache-2.0
// Finds what is wrong with the device masks that one program sees: indices that do not exist, masks
// that hide everything, and masks that contradict each other. facts/visible_devices.h tells which
// GPUs a mask leaves.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "facts/visible_devices.h"

namespace headroom::findings {

struct MaskProblem {
  std::string name;  // The name of the faulty mask.
  std::string why;
  bool hides_all = false;
};
// `gpus` is how many the machine has; nothing if that is not known.
std::vector<MaskProblem> check_masks(const std::vector<facts::Mask>& masks,
                                     std::optional<std::size_t> gpus);

}  // namespace headroom::findings

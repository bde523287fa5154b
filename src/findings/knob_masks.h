// SPDX-License-Identifier: Apache-2.0
// Device masks: which GPUs are left where several are set. ROCR_VISIBLE_DEVICES counts over the
// machine's GPUs; the HIP ones count over what that leaves (HIP documentation, GPU isolation).
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace headroom::findings {

// Variable and value of each mask that one program sees.
struct Mask {
  std::string name;
  std::string value;
};

struct MaskProblem {
  std::string name;  // The mask that is to blame.
  std::string why;
  bool hides_all = false;
};
// `gpus`: how many the machine has; nothing where that is not known.
std::vector<MaskProblem> check_masks(const std::vector<Mask>& masks,
                                     std::optional<std::size_t> gpus);

}  // namespace headroom::findings

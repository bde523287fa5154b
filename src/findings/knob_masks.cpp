// SPDX-License-Identifier: Apache-2.0
#include "findings/knob_masks.h"

#include <fmt/format.h>

#include <algorithm>

#include "facts/visible_devices.h"

namespace headroom::findings {
namespace {

using facts::Mask;

const Mask* find(const std::vector<Mask>& masks, std::string_view variable) {
  const auto found = std::find_if(masks.begin(), masks.end(), [&](const Mask& mask) {
    return mask.variable == variable && !mask.value.empty();
  });
  return found == masks.end() ? nullptr : &*found;
}

// Whether a mask uses ids or shell variables, whose GPUs cannot be known here.
bool names_by_id(const Mask& mask) {
  return mask.value.find_first_of("gG$") != std::string::npos;
}

std::string say_rejected(const facts::RejectedWord& rejected, const Mask* rocr, std::size_t gpus,
                         std::size_t left) {
  if (rejected.variable != "ROCR_VISIBLE_DEVICES" && rocr != nullptr) {
    return fmt::format(
        "there is no GPU {}: ROCR_VISIBLE_DEVICES={} leaves {}, and HIP numbers those from 0 again",
        rejected.word, rocr->value, left);
  }
  return fmt::format("there is no GPU {}: the machine has {}, counted from 0", rejected.word, gpus);
}

}  // namespace

std::vector<MaskProblem> check_masks(const std::vector<Mask>& masks,
                                     std::optional<std::size_t> gpus) {
  std::vector<MaskProblem> problems;
  const Mask* hip = find(masks, "HIP_VISIBLE_DEVICES");
  const Mask* cuda = find(masks, "CUDA_VISIBLE_DEVICES");
  if (hip != nullptr && cuda != nullptr && hip->value != cuda->value) {
    problems.push_back(
        {"CUDA_VISIBLE_DEVICES",
         fmt::format("HIP_VISIBLE_DEVICES={} says otherwise, and it wins", hip->value)});
  }
  if (!gpus || std::any_of(masks.begin(), masks.end(), names_by_id)) return problems;
  const auto visible = facts::apply_masks(std::vector<std::uint64_t>(*gpus, 0), masks);
  const Mask* rocr = find(masks, "ROCR_VISIBLE_DEVICES");
  for (const Mask& mask : masks) {
    if (mask.variable == "ROCR_VISIBLE_DEVICES" && mask.value.empty()) {
      problems.push_back({mask.variable, "it is empty, which hides every GPU", true});
    }
  }
  for (const facts::RejectedWord& rejected : visible.rejected) {
    const Mask* mask = find(masks, rejected.variable);
    if (mask != nullptr && mask->value == rejected.word && rejected.word.starts_with('-')) {
      problems.push_back({rejected.variable, "it hides every GPU", true});
    } else {
      problems.push_back(
          {rejected.variable, say_rejected(rejected, rocr, *gpus, visible.rocr.size())});
    }
  }
  return problems;
}

}  // namespace headroom::findings
